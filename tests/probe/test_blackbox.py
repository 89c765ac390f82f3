"""The black box: scales of functions known only by their output."""

from __future__ import annotations

import math

import numpy as np
import pytest

from attnlint import probe

torch = pytest.importorskip("torch")
F = torch.nn.functional
D = 48


def by_hand(scale):
    return lambda q, k, v: (q @ k.mT * scale).softmax(-1) @ v


def in_numpy(q, k, v):
    q, k, v = np.asarray(q), np.asarray(k), np.asarray(v)
    s = q @ k.swapaxes(-1, -2) / math.sqrt(D)
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize(
    ("fn", "ratio", "kind"),
    [
        (F.scaled_dot_product_attention, 1.0, None),
        (by_hand(D**-0.5), 1.0, None),
        (by_hand(1.0), math.sqrt(D), "missing-scale"),
        (by_hand(1 / D), D**-0.5, "unrooted-scale"),
        (by_hand(math.sqrt(D)), D, "inverted-scale"),
        (by_hand(0.125), math.sqrt(D) / 8, "constant-scale"),
        (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), 1.0, None),
        (lambda q, k, v: (q @ k.mT / D**0.5 - 0.3 * torch.arange(q.shape[2])).softmax(-1) @ v, 1.0, None),
        (lambda q, k, v: (q @ k.mT).softmax(-1) @ v / D**0.5, math.sqrt(D), "scale-after-softmax"),
        (lambda q, k, v: ((q @ k.mT / D**0.5) ** 2).softmax(-1) @ v, None, "not-affine"),
        (lambda q, k, v: F.scaled_dot_product_attention(q, k, v).transpose(1, 2), 1.0, None),
        (lambda q, k, v: (F.scaled_dot_product_attention(q, k, v), None), 1.0, None),
    ],
)
def test_scales(fn, ratio, kind, heads):
    found = probe.measure_scale(fn, D, heads)
    assert (found.status, found.kind) == ("fault" if kind else "ok", kind), found
    if ratio is not None:
        assert found.ratio == pytest.approx(ratio, rel=1e-5) and found.scale == pytest.approx(ratio * D**-0.5, rel=1e-5)
        assert found.r_squared > 0.999999


@pytest.mark.parametrize("head_dim", [2, 3, 8, 64, 256])
def test_head_sizes(head_dim):
    assert probe.measure_scale(F.scaled_dot_product_attention, head_dim).ratio == pytest.approx(1.0, rel=1e-5)


def test_half_types():
    assert probe.measure_scale(F.scaled_dot_product_attention, D, dtype="bfloat16").ratio == pytest.approx(1.0, abs=1e-2)


def test_numpy_functions():
    assert probe.measure_scale(in_numpy, D, framework="numpy").status == "ok"
    assert (
        probe.measure_scale(lambda q, k, v: np.einsum("bhqk,bhkd->bhqd", softmax(np.matmul(q, k.swapaxes(-1, -2)) / 3), v), 9).status
        == "ok"
    )


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_compiled_scripted_and_custom_operations():
    torch._dynamo.reset()
    assert probe.measure_scale(torch.compile(by_hand(1.0), backend="eager"), D).kind == "missing-scale"
    with torch.library._scoped_library("boxed", "DEF") as library:
        library.define("attend(Tensor q, Tensor k, Tensor v) -> Tensor")
        library.impl("attend", F.scaled_dot_product_attention, "CPU")
        assert probe.measure_scale(torch.ops.boxed.attend, D).status == "ok"


def test_expectations():
    assert probe.measure_scale(by_hand(1.0), D, expect=probe.Expect.unscaled("a test")).status == "declared"
    assert probe.measure_scale(by_hand(1 / D), D, expect=lambda d: 1 / d).ratio == pytest.approx(1.0, rel=1e-5)


def test_errors():
    with pytest.raises(ValueError, match="torch, numpy, jax"):
        probe.measure_scale(in_numpy, D, framework="mlx")
    with pytest.raises(ValueError, match="sizes"):
        probe.measure_scale(in_numpy, 0)
    with pytest.raises(ValueError, match="returned shape"):
        probe.measure_scale(lambda q, k, v: v[0], D, framework="torch")
    with pytest.raises(ValueError, match="neither"):
        probe.measure_scale(lambda q, k, v: q.nonsense, D)


def test_jax_functions():
    jax = pytest.importorskip("jax")
    assert probe.measure_scale(lambda q, k, v: jax.nn.softmax(q @ k.swapaxes(-1, -2) / D**0.5) @ v, D, framework="jax").status == "ok"
