"""The reference attention against PyTorch's values and gradients, and against what textbooks say."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from attnlint import reference

torch = pytest.importorskip("torch")
F = torch.nn.functional

B, H, T, S, D, E = 2, 6, 7, 9, 16, 5


def arrays(heads_kv: int = H, seed: int = 0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((B, H, T, D)), rng.standard_normal((B, heads_kv, S, D)), rng.standard_normal((B, heads_kv, S, E))


def masks():
    rng = np.random.default_rng(5)
    keep = rng.random((B, 1, T, S)) > 0.3
    keep[..., 0] = True
    return {"boolean": keep, "additive": np.where(keep, 0.0, -np.inf), "per head": rng.standard_normal((H, T, S)), "keys": keep[:, :, :1]}


CASES = {
    "plain": {},
    "scale": {"scale": 0.37},
    "negative scale": {"scale": -0.2},  # attnlint: ignore[inverted-scale] the reference takes any scale
    "causal": {"causal": True},
    **{f"mask {name}": {"mask": mask} for name, mask in masks().items()},
    "causal and scale": {"causal": True, "scale": 1.0},
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("heads_kv", [H, 3, 1])
def test_values_and_gradients_are_pytorchs(name, heads_kv):
    case = CASES[name]
    q, k, v = arrays(heads_kv)
    tq, tk, tv = (torch.tensor(a, requires_grad=True) for a in (q, k, v))
    mask = case.get("mask")
    out = F.scaled_dot_product_attention(
        tq,
        tk,
        tv,
        attn_mask=None if mask is None else torch.tensor(mask),
        is_causal=case.get("causal", False),
        scale=case.get("scale"),
        enable_gqa=heads_kv != H,
    )
    upstream = np.random.default_rng(2).standard_normal(out.shape)
    out.backward(torch.tensor(upstream))
    ours = reference.attention(q, k, v, **case)
    np.testing.assert_allclose(ours.output, out.detach().numpy(), atol=1e-12)
    grads = reference.gradients(q, k, v, upstream, **case)
    for mine, theirs in ((grads.q, tq), (grads.k, tk), (grads.v, tv)):
        np.testing.assert_allclose(mine, theirs.grad.numpy(), atol=1e-11)


@pytest.mark.parametrize("shape", [(H, T, S), (1, H, 1, S), (T, S), (B, H, T, S), ()])
def test_bias_and_its_gradient(shape):
    q, k, v = arrays()
    bias = np.random.default_rng(3).standard_normal(shape)
    tensors = [torch.tensor(a, requires_grad=True) for a in (q, k, v)]
    tb = torch.tensor(bias, requires_grad=True)
    out = torch.softmax(tensors[0] @ tensors[1].mT * D**-0.5 + tb, -1) @ tensors[2]
    out.sum().backward()
    np.testing.assert_allclose(reference.attention(q, k, v, bias=bias).output, out.detach().numpy(), atol=1e-12)
    grads = reference.gradients(q, k, v, bias=bias)
    assert grads.bias is not None and grads.bias.shape == shape
    np.testing.assert_allclose(grads.bias, tb.grad.numpy(), atol=1e-11)
    np.testing.assert_allclose(grads.q, tensors[0].grad.numpy(), atol=1e-11)


def test_gradients_of_broadcast_keys():
    q, k, v = arrays()
    k, v = k[:1], v[:1]
    tensors = [torch.tensor(a, requires_grad=True) for a in (q, k, v)]
    (torch.softmax(tensors[0] @ tensors[1].mT * D**-0.5, -1) @ tensors[2]).sum().backward()
    grads = reference.gradients(q, k, v)
    assert grads.k.shape == k.shape
    np.testing.assert_allclose(grads.k, tensors[1].grad.numpy(), atol=1e-11)


def test_a_row_without_keys_gives_zeros_and_no_gradient():
    q, k, v = arrays()
    keep = np.ones((T, S), bool)
    keep[2] = False
    done = reference.attention(q, k, v, mask=keep)
    assert (done.output[:, :, 2] == 0).all() and np.isfinite(done.output).all()
    assert (reference.gradients(q, k, v, mask=keep).q[:, :, 2] == 0).all()


def test_two_axes_are_enough():
    rng = np.random.default_rng(1)
    q, k, v = rng.standard_normal((5, 4)), rng.standard_normal((6, 4)), rng.standard_normal((6, 3))
    done = reference.attention(q, k, v)
    assert done.output.shape == (5, 3) and done.scale == 0.5
    np.testing.assert_allclose(done.weights.sum(-1), 1.0)


@pytest.mark.parametrize("d", [16, 32, 64, 128, 256, 512, 1024])
def test_textbook_variance_of_the_logits(d):
    rows = {row.scale: row.statistics for row in reference.why_sqrt_d([d])}
    assert rows["1"].logit_variance == pytest.approx(d, rel=0.1)
    assert rows["1/sqrt(d)"].logit_variance == pytest.approx(1.0, rel=0.1)
    assert rows["1/d"].logit_variance == pytest.approx(1 / d, rel=0.1)


def test_unscaled_saturates_and_over_d_flattens():
    rows = {(row.head_dim, row.scale): row.statistics for row in reference.why_sqrt_d([64, 1024])}
    assert rows[64, "1"].max_weight == pytest.approx(0.758, abs=0.03)
    assert rows[64, "1"].saturated == pytest.approx(0.135, abs=0.05)
    assert rows[64, "1"].entropy == pytest.approx(0.14, abs=0.02)
    assert rows[64, "1"].jacobian == pytest.approx(0.34, abs=0.04)
    assert rows[64, "1/sqrt(d)"].max_weight == pytest.approx(0.069, abs=0.005)
    assert rows[64, "1/sqrt(d)"].saturated == 0
    assert rows[64, "1/sqrt(d)"].entropy == pytest.approx(0.90, abs=0.01)
    assert rows[64, "1/sqrt(d)"].jacobian == pytest.approx(0.98, abs=0.01)
    assert rows[1024, "1"].saturated > 0.5
    assert rows[1024, "1/d"].entropy > 0.999


def test_statistics_of_rows_known_by_heart():
    uniform = reference.statistics(np.full((3, 4), 0.25))
    assert (uniform.max_weight, uniform.saturated, uniform.jacobian) == (0.25, 0.0, 0.75)
    assert uniform.entropy == pytest.approx(1.0)
    assert uniform.logit_variance is None
    choice = reference.statistics([[1.0, 0.0], [0.0, 1.0]], [[50.0, -900.0], [-900.0, 50.0]])
    assert (choice.max_weight, choice.saturated, choice.jacobian, choice.entropy) == (1.0, 1.0, 0.0, 0.0)
    spread = reference.statistics([[0.2, 0.3, 0.5, 0.0]], [[1.0, 2.0, 6.0, -np.inf]])
    assert spread.logit_variance == pytest.approx(np.var([1.0, 2.0, 6.0]))
    masked = reference.statistics([[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]], [[1.0, 1.0, -np.inf], [-np.inf] * 3])
    assert masked.entropy == pytest.approx(1.0) and masked.max_weight == 0.5 and masked.logit_variance == 0.0
    assert reference.statistics([[1.0, 0.0]]).entropy is None


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda q, k, v: reference.attention(q, k[..., :3], v), ValueError, "the contraction"),
        (lambda q, k, v: reference.attention(q, k, v[..., :3, :]), ValueError, "as many tokens"),
        (lambda q, k, v: reference.attention(q[0, 0, 0], k, v), ValueError, "two axes"),
        (lambda q, k, v: reference.attention(q, k[:, :4], v[:, :4]), ValueError, "no multiple"),
        (lambda q, k, v: reference.attention(q, k, v, mask=np.ones((T, S), int)), TypeError, "astype(bool)"),
        (lambda q, k, v: reference.gradients(q, k, v, np.ones(3)), ValueError, "upstream"),
        (lambda q, k, v: reference.statistics(np.zeros((2, 3))), ValueError, "no row"),
    ],
)
def test_errors_say_what_to_do(call, error, says):
    with pytest.raises(error, match=re.escape(says)):
        call(*arrays())


def test_the_table_and_the_plot_of_why():
    rows = reference.why_sqrt_d([16, 64])
    text = reference.why_sqrt_d_text(rows)
    assert len(text.splitlines()) == 2 + 6 and "1/sqrt(d)" in text
    assert f"{rows[3].statistics.max_weight:.3f}" in text
    assert [line.count("█") for line in text.splitlines()[2:]] == [max(1, round(20 * row.statistics.max_weight)) for row in rows]
    svg = reference.why_sqrt_d_svg(rows)
    heights = [[float(point.split(",")[1]) for point in line.split()] for line in re.findall(r'points="([^"]+)"', svg)]
    by_scale = [[row.statistics.entropy for row in rows if row.scale == name] for name in ("1", "1/sqrt(d)", "1/d")]
    axis = re.search(r'd="M\d+,(\d+) V(\d+)', svg)  # from entropy 1 down to 0
    top, bottom = float(axis[1]), float(axis[2])
    for drawn, known in zip(heights, by_scale, strict=True):
        assert drawn == pytest.approx([bottom - (bottom - top) * value for value in known], abs=0.06)
    assert svg.count("<polyline") == 3 and "http" not in svg.replace("http://www.w3.org/2000/svg", "")
    assert math.isclose(rows[0].statistics.max_weight, reference.why_sqrt_d([16])[0].statistics.max_weight)
