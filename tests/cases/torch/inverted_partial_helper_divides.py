# case: inverted_partial_helper_divides expect: inverted-scale line: 20 alt: 10,26
from functools import partial

import torch
from torch import nn


def dot(q, k, v, scale=None):
    scale = scale or q.size(-1) ** 0.5
    w = q @ k.transpose(-2, -1) / scale
    return w.softmax(dim=-1) @ v


class Bound(nn.Module):
    """The helper divides, and what is bound to it is the factor."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.dot = partial(dot, scale=self.d**-0.5)
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, self.d).permute(2, 0, 3, 1, 4)
        return self.dot(q, k, v).transpose(1, 2).reshape(b, n, c)
