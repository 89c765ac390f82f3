"""NumPy programs, right and wrong: the ratio of each, through probe.call or probe.array; what is not observed says so."""

from __future__ import annotations

import math

import numpy as np
import pytest

from attnlint import probe

B, H, T, S, D = 3, 4, 13, 9, 12
root = math.sqrt(D)


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def qkv(shape=(B, H), seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((*shape, T, D)), rng.standard_normal((*shape, S, D)), rng.standard_normal((*shape, S, D))


def plain(q, k, v):
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(D)) @ v


def matmul_transpose(q, k, v):
    return np.matmul(softmax(np.matmul(q, np.transpose(k, (0, 1, 3, 2))) * q.shape[-1] ** -0.5), v)


def einsum(q, k, v):
    return np.einsum("bhqk,bhkd->bhqd", softmax(np.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(D)), v)


def einsum_implicit_batches(q, k, v):
    return np.einsum("...qk,...kd->...qd", softmax(np.einsum("...qd,...kd->...qk", q, k) / math.sqrt(D)), v)


def scaled_query(q, k, v):
    q = q * D**-0.5
    return softmax(q @ k.transpose(0, 1, 3, 2)) @ v


def in_place(q, k, v):
    scores = q @ k.swapaxes(2, 3)
    scores /= root
    scores -= scores.max(-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(-1, keepdims=True)
    return scores @ v


def causal_where(q, k, v):
    mask = np.tril(np.ones((T, S), dtype=bool))
    scores = np.where(mask, q @ k.swapaxes(-1, -2) / root, -np.inf)
    return softmax(scores) @ v


def causal_assignment(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / root
    scores[..., np.triu(np.ones((T, S), dtype=bool), 1)] = -1e9
    return softmax(scores) @ v


def added_mask(q, k, v):
    return softmax(q @ k.swapaxes(-1, -2) / root + (1 - np.tri(T, S)) * -1e9) @ v


def bias(q, k, v):
    return softmax(q @ k.swapaxes(-1, -2) / root + np.linspace(-1, 1, T * S).reshape(T, S)) @ v


def head_loop(q, k, v):
    return np.stack([softmax(q[:, h] @ k[:, h].transpose(0, 2, 1) / root) @ v[:, h] for h in range(H)], axis=1)


def sum_after(q, k, v):
    e = np.exp(q @ k.swapaxes(-1, -2) / root)
    return (e @ v) / e.sum(-1, keepdims=True)


def broadcast_sum(q, k, v):
    scores = (q[..., :, None, :] * k[..., None, :, :]).sum(-1) / root
    return (softmax(scores)[..., None] * v[..., None, :, :]).sum(-2)


def sink(q, k, v):
    scores = np.concatenate([q @ k.swapaxes(-1, -2) / root, np.zeros((B, H, T, 1))], axis=-1)
    return softmax(scores)[..., :-1] @ v


def soft_cap(q, k, v):
    return softmax(5 * np.tanh(q @ k.swapaxes(-1, -2) / root / 5)) @ v


def rows_in_columns(q, k, v):
    logits = k @ q.swapaxes(-1, -2) / root
    return softmax(logits, axis=-2).swapaxes(-1, -2) @ v


def two_axes(q, k, v):
    return softmax(q[0, 0].dot(k[0, 0].T) / root).dot(v[0, 0])


def log_space(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / root
    return np.exp(scores - np.logaddexp.reduce(scores, axis=-1, keepdims=True)) @ v


def query_by_query(q, k, v):
    q, k, v = q[0, 0], k[0, 0], v[0, 0]
    rows = []
    for i in range(T):
        scores = np.array([0.0] * S)
        scores = k @ q[i] / root
        rows.append(softmax(scores) @ v)
    return np.stack(rows)


RIGHT = {
    f.__name__: (f, calls)
    for f, calls in [
        (plain, 1),
        (matmul_transpose, 1),
        (einsum, 1),
        (einsum_implicit_batches, 1),
        (scaled_query, 1),
        (in_place, 1),
        (causal_where, 1),
        (causal_assignment, 1),
        (added_mask, 1),
        (bias, 1),
        (head_loop, H),
        (sum_after, 1),
        (broadcast_sum, 1),
        (sink, 1),
        (soft_cap, 1),
        (rows_in_columns, 1),
        (two_axes, 1),
        (log_space, 1),
        (query_by_query, T),
    ]
}


@pytest.mark.parametrize("name", RIGHT)
def test_right(name):
    f, calls = RIGHT[name]
    given = qkv()
    with probe.watch() as report:
        seen = probe.call(f, *given)
    assert type(seen) is np.ndarray
    assert np.array_equal(seen, f(*qkv())), "tracing changed the values"
    assert report.internal_errors == []
    assert len(report.sites) == 1, str(report)
    site = report.sites[0]
    assert site.status == "ok" and site.calls == calls, str(report)
    assert site.ratio == pytest.approx(1.0, abs=1e-9)
    assert site.head_dim == D and site.module == ""
    if site.r_squared is not None:
        assert site.slope == pytest.approx(site.scale, rel=1e-6)
    report.raise_for_faults()


def scaled(factor, where="logits"):
    def attend(q, k, v):
        if where == "query":
            q = q * factor
            return softmax(q @ k.swapaxes(-1, -2) / root) @ v
        if where == "weights":
            return (softmax(q @ k.swapaxes(-1, -2)) * factor) @ v
        if where == "output":
            return softmax(q @ k.swapaxes(-1, -2)) @ v / root
        return softmax(q @ k.swapaxes(-1, -2) * factor) @ v

    return attend


def multiplied_mask(q, k, v):
    return softmax(q @ k.swapaxes(-1, -2) / root * np.tri(T, S)) @ v


def masked_weights(q, k, v):
    return (softmax(q @ k.swapaxes(-1, -2) / root) * np.tri(T, S)) @ v


def squared(q, k, v):
    return softmax((q @ k.swapaxes(-1, -2) / root) ** 2) @ v


WRONG = {
    "missing": (scaled(1.0), root, "missing-scale"),
    "width": (scaled((H * D) ** -0.5), H**-0.5, "wrong-dim-scale"),
    "unrooted": (scaled(1 / D), 1 / root, "unrooted-scale"),
    "inverted": (scaled(root), D, "inverted-scale"),
    "twice": (scaled(1 / root, "query"), 1 / root, "double-scale"),
    "tokens": (scaled(T**-0.5), math.sqrt(D / T), "wrong-dim-scale"),
    "weights": (scaled(1 / root, "weights"), root, "scale-after-softmax"),
    "output": (scaled(1 / root, "output"), root, "scale-after-softmax"),
    "multiplied mask": (multiplied_mask, 1.0, "multiplicative-mask"),
    "masked weights": (masked_weights, 1.0, "mask-after-softmax"),
    "squared": (squared, None, "not-affine"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong(name):
    f, ratio, kind = WRONG[name]
    with probe.watch() as report:
        probe.call(f, *qkv())
    assert report.internal_errors == []
    (site,) = report.sites
    assert (site.status, site.kind) == ("fault", kind), str(report)
    if ratio is not None:
        assert site.ratio == pytest.approx(ratio, rel=1e-9)
    with pytest.raises(probe.AttentionFault, match=kind):
        report.raise_for_faults()


def bias_free(q, k, v):
    return softmax(q @ k.swapaxes(-1, -2) / root) @ v


def test_float32_programs():
    with probe.watch() as report:
        out = probe.call(bias_free, *(a.astype(np.float32) for a in qkv()))
    assert out.dtype == np.float32 and report.sites[0].status == "ok"


def test_a_script_enters_through_array():
    q, k, v = qkv()
    with probe.watch() as report:
        tq, tk = probe.array(q), probe.array(k)
        scores = tq @ tk.swapaxes(-1, -2) / root
        out = softmax(scores) @ v
    assert report.sites[0].status == "ok"
    assert np.array_equal(np.asarray(out), plain(q, k, v))


def test_plain_arrays_are_not_observed():
    with probe.watch() as report:
        plain(*qkv())
    assert report.sites == [] and report.status == "not-observed"
    with pytest.raises(probe.AttentionFault, match=r"probe\.call"):
        report.raise_for_faults()


def test_normalised_arrays():
    def cosine(q, k, v):
        q, k = q / np.linalg.norm(q, axis=-1, keepdims=True), k / np.sqrt((k**2).sum(-1, keepdims=True))
        return softmax(q @ k.swapaxes(-1, -2) * 10) @ v

    with probe.watch() as report:
        probe.call(cosine, *qkv())
    assert report.sites[0].status == "skipped" and "10" in report.sites[0].note


def test_expectations_hold_for_numpy_too():
    with probe.watch(expect=probe.Expect.unscaled("a toy")) as report:
        probe.call(scaled(1.0), *qkv())
    assert report.sites[0].status == "declared" and report.sites[0].ratio == pytest.approx(1)


def test_traced_numbers_behave_as_numbers():
    with probe.watch():
        x = probe.array([1.0, 2.0])
        total = x.sum()
        assert f"{total:.1f}" == "3.0" and float(total) == 3.0 and {total: 1}[3.0] == 1 and round(float(total)) == 3


def test_calls_outside_a_block_just_compute():
    assert np.array_equal(probe.call(plain, *qkv()), plain(*qkv()))


def test_an_error_of_the_trace_stays_out_of_the_program(monkeypatch):
    from attnlint.probe.trace import Trace

    def broken(*_, **__):
        raise RuntimeError("mine")

    monkeypatch.setattr(Trace, "product", broken)
    with probe.watch() as report:
        seen = probe.call(plain, *qkv())
    assert np.array_equal(seen, plain(*qkv()))
    assert {str(error) for error in report.internal_errors} == {"mine"}


def test_class_logits_are_silent():
    def classify(q, k, v):
        return softmax(q[0, 0] @ k[0, 0].T).argmax(-1)

    with probe.watch() as report:
        probe.call(classify, *qkv())
    assert report.sites == []


def test_statistics_are_those_of_the_reference():
    from attnlint import reference

    q, k, v = qkv()
    with probe.watch() as report:
        probe.call(scaled(1.0), q, k, v)
    site = report.sites[0]
    expected = reference.statistics(reference.attention(q, k, v, scale=1.0).weights)
    assert site.max_weight == pytest.approx(expected.max_weight) and site.saturated == pytest.approx(expected.saturated)
    assert site.entropy == pytest.approx(expected.entropy) and site.jacobian == pytest.approx(expected.jacobian)
    error = np.abs(reference.attention(q, k, v, scale=1.0).weights - reference.attention(q, k, v).weights).max()
    assert site.reference_error == pytest.approx(error)


@pytest.mark.parametrize(
    ("product", "axis", "values"),
    [
        ("qbhd,kbhd->bhqk", -1, "bhqk,kbhd->qbhd"),
        ("bqhd,bkhd->bqhk", -1, "bqhk,bkhd->bqhd"),
        ("qbhd,kbhd->kqbh", 0, "kqbh,kbhd->qbhd"),
        ("bqdh,bdkh->bhqk", -1, "bhqk,bdkh->bqdh"),
        ("qbhde,kbhed->bhqk", -1, "bhqk,kbhed->qbhed"),
        ("qd,kd->kq", 0, "kq,kd->qd"),
    ],
)
@pytest.mark.parametrize("tokens", [(20, 10), (130, 70)], ids=["all entries", "a sample"])
def test_each_layout_is_regressed(product, axis, values, tokens):
    sizes = {"b": 3, "h": 5, "q": tokens[0], "k": tokens[1], "d": 16, "e": 2}
    rng = np.random.default_rng(0)
    q_axes, k_axes = product.partition("->")[0].split(",")
    q, k = (rng.standard_normal([sizes[c] for c in axes]) for axes in (q_axes, k_axes))
    scale = 32**-0.5 if "e" in q_axes else 0.25
    with probe.watch() as report:
        probe.call(lambda q, k: np.einsum(values, softmax(np.einsum(product, q, k) * scale, axis), k), q, k)
    (site,) = report.sites
    assert report.internal_errors == [] and site.status == "ok"
    assert site.slope == pytest.approx(scale, rel=1e-9) and site.r_squared > 1 - 1e-12 and site.reference_error < 1e-12
