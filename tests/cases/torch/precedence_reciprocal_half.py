# case: precedence_reciprocal_half expect: scale-precedence line: 10 alt: 16
import torch
from torch import nn


class ReciprocalHalf(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.head_dim = heads, dim // heads
        self.scale = 1 / self.head_dim ** 1 / 2
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, self.head_dim).permute(2, 0, 3, 1, 4)
        s = q @ k.transpose(-2, -1) * self.scale
        return (s.softmax(-1) @ v).transpose(1, 2).reshape(b, n, c)
