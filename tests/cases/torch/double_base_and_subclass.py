# case: double_base_and_subclass expect: double-scale line: 22 alt: 8,21
import torch
from torch import nn


class Scores(nn.Module):
    def weigh(self, q, k, v):
        s = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        return s.softmax(dim=-1) @ v


class Eager(Scores):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (f(x).view(b, n, self.heads, self.d).transpose(1, 2) for f in (self.q, self.k, self.v))
        q = q * self.d**-0.5
        return self.weigh(q, k, v).transpose(1, 2).reshape(b, n, c)
