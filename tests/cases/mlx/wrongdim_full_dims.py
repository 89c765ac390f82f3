# case: wrongdim_full_dims expect: wrong-dim-scale line: 12 alt: 18,19
import math

import mlx.core as mx
import mlx.nn as nn


class FullDims(nn.Module):
    def __init__(self, dims, heads):
        super().__init__()
        self.heads = heads
        self.scale = math.sqrt(1 / dims)
        self.q, self.k, self.v = nn.Linear(dims, dims), nn.Linear(dims, dims), nn.Linear(dims, dims)

    def __call__(self, x):
        B, L, D = x.shape
        q, k, v = (f(x).reshape(B, L, self.heads, D // self.heads).transpose(0, 2, 1, 3) for f in (self.q, self.k, self.v))
        s = (self.scale * q) @ k.transpose(0, 1, 3, 2)
        return (mx.softmax(s, axis=-1) @ v).transpose(0, 2, 1, 3).reshape(B, L, D)
