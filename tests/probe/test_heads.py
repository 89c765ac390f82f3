"""Figures head by head, rows drawn evenly, a head of its own scale, and values that are no numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

from attnlint import probe, reference  # noqa: E402
from attnlint.probe.positions import sample  # noqa: E402
from attnlint.probe.values import Geometry  # noqa: E402

B, H, T, S, D = 3, 5, 14, 9, 12
R = D**-0.5


def tensors(seed=0, shape=(B, H), t=T, s=S):
    torch.manual_seed(seed)
    return torch.randn(*shape, t, D), torch.randn(*shape, s, D), torch.randn(*shape, s, D)


def by_hand(q, k, v, scale=R):
    return (q @ k.mT * scale).softmax(-1) @ v


def fused(q, k, v, scale=R):
    return F.scaled_dot_product_attention(q, k, v, scale=scale)


def watched(f, *args, **kwargs):
    with probe.watch() as report:
        f(*args, **kwargs)
    assert report.internal_errors == []
    (site,) = report.sites
    return site


@pytest.mark.parametrize("attend", [by_hand, fused])
@pytest.mark.parametrize("scale", [R, 1.0])
def test_the_figures_of_each_head_are_those_of_the_reference(attend, scale):
    q, k, v = tensors()
    q[:, 2] *= 9
    site = watched(attend, q, k, v, scale)
    assert [head.head for head in site.heads] == list(range(H))
    for head in site.heads:
        one = reference.attention(*(x[:, head.head].double().numpy() for x in (q, k, v)), scale=scale)
        expected = reference.statistics(one.weights, one.logits)
        assert head.entropy == pytest.approx(expected.entropy, rel=1e-5)
        assert head.max_weight == pytest.approx(expected.max_weight, rel=1e-5)
        assert head.saturated == pytest.approx(expected.saturated)
        assert head.max_logit == pytest.approx(one.logits.max(), rel=1e-5)
        assert head.ratio == pytest.approx(scale / R, rel=1e-4)
    assert site.max_logit == max(head.max_logit for head in site.heads)
    assert json.loads(json.dumps(site.as_dict()))["heads"][2]["max_logit"] == site.heads[2].max_logit


def scores_by_head(q, k, v, scale):
    return (q @ k.mT * scale).softmax(-1) @ v


def query_by_head(q, k, v, scale):
    return ((q * scale) @ k.mT).softmax(-1) @ v


def key_by_head(q, k, v, scale):
    return (q @ (k / (1 / scale)).mT).softmax(-1) @ v


def fused_by_head(q, k, v, scale):
    return F.scaled_dot_product_attention(q * scale, k, v, scale=1.0)


@pytest.mark.parametrize("attend", [scores_by_head, query_by_head, key_by_head, fused_by_head])
def test_a_head_of_its_own_scale_is_a_fault_of_that_head(attend):
    scale = torch.full((H, 1, 1), R)
    scale[3] *= 2
    site = watched(attend, *tensors(), scale)
    assert site.status == "fault" and "head 3 (0.5774) of 5" in site.note
    assert [round(head.ratio, 4) for head in site.heads] == [1, 1, 1, 2, 1]
    assert site.ratio == pytest.approx(2.0, rel=1e-4)


@pytest.mark.parametrize("attend", [scores_by_head, query_by_head])
def test_a_head_that_is_written_in_place_is_a_fault(attend):
    def doubled(q, k, v):
        if attend is scores_by_head:
            scores = q @ k.mT * R
            scores[:, 3] *= 2
        else:
            q = q * R
            q[:, 3] *= 2
            scores = q @ k.mT
        return scores.softmax(-1) @ v

    site = watched(doubled, *tensors())
    assert site.status == "fault" and site.ratio == pytest.approx(2.0, rel=1e-4)


def test_a_large_attention_sees_every_head_and_every_stretch():
    """More weights than are read: one head alone is saturated, in one batch element and at the last queries another scale holds."""
    q, k, v = tensors(shape=(8, 4), t=96, s=160)
    q[:, 1] *= 30
    site = watched(by_hand, q, k, v)
    saturated = [head.saturated for head in site.heads]
    assert saturated[1] > 0.5 and max(saturated[0], saturated[2], saturated[3]) < 0.1
    assert site.saturated == pytest.approx(sum(saturated) / 4, abs=0.02)
    largest = (q @ k.mT * R).amax((0, 2, 3))
    assert [head.max_logit for head in site.heads] == pytest.approx(largest.tolist(), rel=1e-5)  # over all rows, not the sampled ones


@pytest.mark.parametrize(
    ("sizes", "heads"),
    [((8, 8, 256, 256), 8), ((16, 4, 512, 512), 4), ((3, 40, 700, 900), 40), ((2, 12, 128, 128), 12), ((24, 512, 512), 8)],
)
def test_rows_are_drawn_evenly(sizes, heads):
    strides = [1]
    for size in sizes[:0:-1]:
        strides.insert(0, strides[0] * size)
    axis = len(sizes) - 3
    position = sample(Geometry(sizes, tuple(strides), 0), len(sizes) - 1, axis, heads)
    rows = position.index[0].shape[0]
    head = position.index[axis][:, 0] % heads
    drawn = np.bincount(head, minlength=heads)
    assert drawn.min() == drawn.max() > 0
    query = position.index[-2][:, 0] / sizes[-2]
    assert np.bincount((query * 4).astype(int), minlength=4).min() > rows / 4 * 0.6
    if len(sizes) == 4:
        batch = np.bincount(position.index[0][:, 0], minlength=sizes[0])
        assert batch.max() <= 2 * max(1, batch.min())
    assert len({tuple(int(i[r, 0]) for i in position.index[:-1]) for r in range(rows)}) == rows, "no row twice"


def test_heads_of_a_module_that_folds_them_into_the_batch():
    torch.manual_seed(0)
    layer = torch.nn.MultiheadAttention(H * D, H, batch_first=True)
    x = torch.randn(B, T, H * D)
    site = watched(lambda: layer(x, x, x, need_weights=True))
    assert len(site.heads) == H and {round(head.ratio, 4) for head in site.heads} == {1.0}


def test_over_several_calls_the_largest_logit_and_the_means():
    q, k, v = tensors()
    sites = [watched(by_hand, q * gain, k, v) for gain in (1.0, 5.0)]
    with probe.watch() as report:
        for gain in (1.0, 5.0):
            by_hand(q * gain, k, v)
    (site,) = report.sites
    assert site.calls == 2 and site.max_logit == max(s.max_logit for s in sites)
    for mine, first, second in zip(site.heads, sites[0].heads, sites[1].heads, strict=True):
        assert mine.entropy == pytest.approx((first.entropy + second.entropy) / 2)
        assert mine.max_logit == max(first.max_logit, second.max_logit)


# --- no numbers ------------------------------------------------------------------------------------------------------------------


def broken(name):
    q, k, v = tensors()
    if name == "a row without any key":
        mask = torch.zeros(T, S)
        mask[4] = -torch.inf
        return (lambda: (q @ k.mT * R + mask).softmax(-1) @ v), r"a row without any key.*\[0, 0, 4\]"
    if name == "a fused row without any key":
        mask = torch.ones(T, S, dtype=torch.bool)
        mask[4] = False
        return (lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=mask)), r"a row without any key.*4\]"
    if name == "NaN in the query":
        q[1, 2, 3, 0] = torch.nan
        return (lambda: by_hand(q, k, v)), r"NaN in the logits, first in row \[1, 2, 3\]; the query has one"
    if name == "NaN in a fused query":
        q[1, 2, 3, 0] = torch.nan
        return (lambda: fused(q, k, v)), "NaN"
    if name == "infinity in the values":
        v[0, 1, 0, 0] = torch.inf
        return (lambda: by_hand(q, k, v)), "NaN or infinity in the output, first at"
    return (
        lambda: (300 * q.half() @ (300 * k.half()).mT * R).softmax(-1) @ v.half()
    ), "infinity in the logits.*float16 holds numbers up to 65504"


@pytest.mark.parametrize(
    "name",
    ["a row without any key", "a fused row without any key", "NaN in the query", "NaN in a fused query", "infinity in the values", "half"],
)
def test_what_is_no_number_is_a_fault_with_its_first_place(name):
    f, message = broken(name)
    with probe.watch() as report:
        f()
    assert report.internal_errors == []
    assert (report.sites[0].status, report.sites[0].kind) == ("fault", "non-finite")
    with pytest.raises(probe.AttentionFault, match=message):
        report.raise_for_faults()
    json.loads(report.to_json(), parse_constant=lambda constant: pytest.fail(f"{constant} is no JSON"))


def test_numpy_has_it_too():
    q, k, v = (x.double().numpy() for x in tensors())
    q[0, 0, 1, 2] = np.inf

    def softmax(x):
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    with np.errstate(all="ignore"), probe.watch() as report:
        probe.call(lambda q, k, v: softmax(q @ k.swapaxes(-1, -2) * R) @ v, q, k, v)
    assert report.sites[0].kind == "non-finite"


def test_masks_and_sinks_are_no_trouble():
    q, k, v = tensors()
    causal = torch.ones(T, S, dtype=torch.bool).tril()
    site = watched(lambda: (q @ k.mT * R).masked_fill(~causal, -torch.inf).softmax(-1) @ v)
    assert site.status == "ok"
    site = watched(lambda: (q @ k.mT * R + torch.finfo(torch.float32).min * (~causal)).softmax(-1) @ v)
    assert site.status == "ok" and site.max_logit == pytest.approx(float((q @ k.mT * R)[..., causal].max()), rel=1e-5)
