# case: clean_part_scaled_in_place expect: clean
"""`x.at[..., :d].multiply(s)` (MLX, JAX `.at`) gives the whole of x back, part of it scaled; the contraction stays head_dim."""

import math

import mlx.core as mx
import mlx.nn as nn


class Partial(nn.Module):
    def __init__(self, dims, ratio):
        super().__init__()
        self.dims = dims
        self.gain = 1.0 if ratio <= 1.0 else math.sqrt(1 + math.log(ratio))

    def __call__(self, x):
        x = x.at[..., : self.dims].multiply(self.gain)
        return mx.fast.rope(x, self.dims, traditional=False, base=1e4, scale=1.0, offset=0)


class Attention(nn.Module):
    def __init__(self, width, heads, share, long):
        super().__init__()
        head_dim = width // heads
        self.heads, self.scale = heads, head_dim**-0.5
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
        if long is None:
            self.turn = nn.RoPE(int(head_dim * share))
        else:
            self.turn = Partial(int(head_dim * share), long)

    def __call__(self, x):
        b, t, _ = x.shape
        q = self.turn(self.q(x).reshape(b, t, self.heads, -1).transpose(0, 2, 1, 3))
        k = self.turn(self.k(x).reshape(b, t, self.heads, -1).transpose(0, 2, 1, 3))
        v = self.v(x).reshape(b, t, self.heads, -1).transpose(0, 2, 1, 3)
        return mx.fast.scaled_dot_product_attention(q, k, v, scale=self.scale)
