# case: intended_one_over_d_under_norms expect: clean
"""q and k are normed per head (RMSNorm with a learned gain): their product is at most d, and 1/d is the cosine's temperature, as released."""

import mlx.core as mx
import mlx.nn as nn


class Attention(nn.Module):
    def __init__(self, width, heads, size):
        super().__init__()
        self.heads, self.size = heads, size
        self.scale = 1.0 / self.size
        self.q, self.k, self.v = nn.Linear(width, heads * size), nn.Linear(width, heads * size), nn.Linear(width, heads * size)
        self.q_norm, self.k_norm = nn.RMSNorm(size), nn.RMSNorm(size)

    def __call__(self, x):
        b, t, _ = x.shape
        q = self.q_norm(self.q(x).reshape(b, t, self.heads, self.size)).transpose(0, 2, 1, 3)
        k = self.k_norm(self.k(x).reshape(b, t, self.heads, self.size)).transpose(0, 2, 1, 3)
        v = self.v(x).reshape(b, t, self.heads, self.size).transpose(0, 2, 1, 3)
        return mx.fast.scaled_dot_product_attention(q, k, v, scale=self.scale)
