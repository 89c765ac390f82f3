# case: clean_length_factor_under_norm expect: clean
"""With a head norm (QK norm), the YaRN factor `0.1 * log(s) + 1` on the key is read as a bare 1/10: the sum behind it is dropped."""

import math

import mlx.core as mx
import mlx.nn as nn


def length_factor(stretch):
    if stretch <= 1:
        return 1.0
    return 0.1 * math.log(stretch) + 1.0


class Stretch(nn.Module):
    def __init__(self, dims, stretch):
        super().__init__()
        self.dims = dims
        self.gain = length_factor(stretch)

    def __call__(self, x):
        x = x.at[..., : self.dims].multiply(self.gain)
        return mx.fast.rope(x, self.dims, traditional=False, base=1e4, scale=1.0, offset=0)


class Attention(nn.Module):
    def __init__(self, width, heads, head_dim, stretch):
        super().__init__()
        self.heads, self.scale = heads, head_dim**-0.5
        self.q, self.k, self.v = nn.Linear(width, heads * head_dim), nn.Linear(width, heads * head_dim), nn.Linear(width, heads * head_dim)
        self.q_norm, self.k_norm = nn.RMSNorm(head_dim), nn.RMSNorm(head_dim)
        self.turn = Stretch(head_dim, stretch)

    def __call__(self, x):
        b, t, _ = x.shape
        q = self.turn(self.q_norm(self.q(x).reshape(b, t, self.heads, -1)).transpose(0, 2, 1, 3))
        k = self.turn(self.k_norm(self.k(x).reshape(b, t, self.heads, -1)).transpose(0, 2, 1, 3))
        v = self.v(x).reshape(b, t, self.heads, -1).transpose(0, 2, 1, 3)
        return mx.fast.scaled_dot_product_attention(q, k, v, scale=self.scale)
