# case: precedence_root_of_float_division expect: scale-precedence line: 12 alt: 18
import torch
from torch import nn


class FloatFloor(nn.Module):
    """`1 / d // 0.5`-like slips: the power binds to the heads alone."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.scale = 1 / (dim // heads ** 0.5)
        self.qkv = nn.Linear(dim, dim * 3)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        s = q @ k.transpose(-1, -2) * self.scale
        return (s.softmax(-1) @ v).transpose(1, 2).reshape(b, n, c)
