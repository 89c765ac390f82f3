# case: missing_in_one_branch expect: missing-scale line: 23 alt: 24
import math

import torch
import torch.nn.functional as F
from torch import nn


class TwoWays(nn.Module):
    """The fused arm scales, the fallback forgot to."""

    def __init__(self, dim, heads, fused):
        super().__init__()
        self.heads, self.fused = heads, fused
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (t.view(b, n, self.heads, c // self.heads).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1))
        if self.fused:
            y = F.scaled_dot_product_attention(q, k, v, scale=1 / math.sqrt(c // self.heads))
        else:
            att = q @ k.transpose(-2, -1)
            y = F.softmax(att, dim=-1) @ v
        return y.transpose(1, 2).reshape(b, n, c)
