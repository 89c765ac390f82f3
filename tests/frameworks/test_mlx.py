"""MLX: arrays, layers and the fused kernel, whose scale has no default."""

from __future__ import annotations

import pytest

MODULE = """
import math
import mlx.core as mx
import mlx.nn as nn

class Attention(nn.Module):
    def __init__(self, dims, num_heads):
        super().__init__()
        self.dims, self.num_heads, self.head_dim = dims, num_heads, dims // num_heads
        self.scale = self.head_dim ** -0.5
        self.q_proj, self.k_proj = nn.Linear(dims, dims, bias=False), nn.Linear(input_dims=dims, output_dims=dims)
        self.v_proj, self.rope = nn.Linear(dims, dims), nn.RoPE(self.head_dim)

    def __call__(self, x, mask=None):
        B, L, D = x.shape
        q, k, v = (f(x).reshape(B, L, self.num_heads, -1).transpose(0, 2, 1, 3) for f in (self.q_proj, self.k_proj, self.v_proj))
        q, k = self.rope(q), self.rope(k)
        return ({output}).transpose(0, 2, 1, 3).reshape(B, L, D)
"""


@pytest.mark.parametrize(
    ("output", "verdict"),
    [
        ("mx.softmax((q * self.scale) @ k.swapaxes(-1, -2), axis=-1, precise=True) @ v", "correct"),
        ("mx.softmax((q @ k.transpose(0, 1, 3, 2)) * mx.rsqrt(mx.array(self.head_dim)) + mask, axis=-1) @ v", "correct"),
        ("mx.softmax(mx.einsum('bhqd,bhkd->bhqk', q, k) / math.sqrt(self.head_dim), axis=-1) @ v", "correct"),
        ("mx.softmax((q * self.head_dim ** -0.25) @ (k * self.head_dim ** -0.25).moveaxis(-1, -2), axis=-1) @ v", "correct"),
        ("mx.fast.scaled_dot_product_attention(q, k, v, scale=self.scale, mask=mask)", "correct"),
        ("mx.fast.scaled_dot_product_attention(q * self.scale, k, v, scale=1.0)", "correct"),
        ("mx.softmax(q @ k.swapaxes(-1, -2), axis=-1) @ v", "missing-scale"),
        ("mx.softmax(q @ k.swapaxes(-1, -2) * self.dims ** -0.5, axis=-1) @ v", "wrong-dim-scale"),
        ("mx.softmax(q @ k.swapaxes(-1, -2) / self.scale, axis=-1) @ v", "inverted-scale"),
        ("mx.fast.scaled_dot_product_attention(q, k, v, scale=self.dims ** -0.5)", "wrong-dim-scale"),
        ("mx.fast.scaled_dot_product_attention(q * self.scale, k, v, scale=self.scale)", "double-scale"),
    ],
)
def test_attention(judged, output, verdict):
    assert judged(MODULE.replace("{output}", output)) == {verdict}


@pytest.mark.parametrize(
    "parts",
    ["mx.split(self.qkv(x), 3, axis=-1)", "self.qkv(x).split(3, axis=-1)", "mx.split(self.qkv(x), [self.dims, 2 * self.dims], axis=-1)"],
)
def test_one_projection_is_cut_into_parts(judged, parts):
    text = f"""
import mlx.core as mx
import mlx.nn as nn

class Attention(nn.Module):
    def __init__(self, dims):
        super().__init__()
        self.dims, self.qkv = dims, nn.Linear(dims, 3 * dims)

    def __call__(self, x):
        q, k, v = {parts}
        return mx.softmax(q @ k.swapaxes(-1, -2) / self.dims ** 0.5, axis=-1) @ v
"""
    assert judged(text) == {"correct"}
    assert judged(text.replace("** 0.5", "")) == {"unrooted-scale"}
