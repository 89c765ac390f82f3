# case: axis_heads expect: softmax-axis line: 17
import mlx.core as mx
import mlx.nn as nn


class OverHeads(nn.Module):
    def __init__(self, dims, heads):
        super().__init__()
        self.heads = heads
        self.scale = (dims // heads) ** -0.5
        self.q, self.k, self.v = nn.Linear(dims, dims), nn.Linear(dims, dims), nn.Linear(dims, dims)

    def __call__(self, x):
        B, L, D = x.shape
        q, k, v = (f(x).reshape(B, L, self.heads, -1).transpose(0, 2, 1, 3) for f in (self.q, self.k, self.v))
        s = (q * self.scale) @ k.transpose(0, 1, 3, 2)
        return (mx.softmax(s, axis=1) @ v).transpose(0, 2, 1, 3).reshape(B, L, D)
