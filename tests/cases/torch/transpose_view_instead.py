# case: transpose_view_instead expect: wrong-transpose line: 15 alt: 16
import torch
from torch import nn


class ViewedKey(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (f(x).view(b, n, self.heads, self.d).transpose(1, 2) for f in (self.q, self.k, self.v))
        k = k.reshape(b, self.heads, self.d, n)
        s = q @ k / self.d**0.5
        return (s.softmax(dim=-1) @ v).transpose(1, 2).reshape(b, n, c)
