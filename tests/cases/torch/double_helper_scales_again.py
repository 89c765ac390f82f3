# case: double_helper_scales_again expect: double-scale line: 25 alt: 9,22
import math

import torch
from torch import nn


def look_up(q, k, v):
    s = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    return torch.softmax(s, dim=-1) @ v


class Twice(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.d = heads, dim // heads
        self.scale = self.d**-0.5
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        b, n, c = x.shape
        q = self.q(x).view(b, n, self.heads, self.d).transpose(1, 2) * self.scale
        k = self.k(x).view(b, n, self.heads, self.d).transpose(1, 2)
        v = self.v(x).view(b, n, self.heads, self.d).transpose(1, 2)
        return look_up(q, k, v).transpose(1, 2).reshape(b, n, c)
