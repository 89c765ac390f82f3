# case: clean_flag_negated_in_argument expect: clean
# proved: yes
"""`apply_scale=not fused` and then `if fused:` - the two branches exclude each other; the scale is applied once on either path."""

import math

import torch
from torch import nn


def by_kernel(q, k, v, scale):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=scale)


class Attention(nn.Module):
    def __init__(self, width, size, heads):
        super().__init__()
        self.size, self.heads = size, heads
        self.q, self.k, self.v = nn.Linear(width, size * heads), nn.Linear(width, size * heads), nn.Linear(width, size * heads)

    def prepare(self, x, y, apply_scale=True):
        q, k, v = self.q(x), self.k(y), self.v(y)
        q = q.view(q.shape[:-1] + (self.heads, -1)).transpose(-2, -3)
        k = k.view(k.shape[:-1] + (self.heads, -1)).transpose(-2, -3)
        v = v.view(v.shape[:-1] + (self.heads, -1)).transpose(-2, -3)
        if apply_scale:
            q = q / math.sqrt(self.size)
        return q, k, v

    def forward(self, x, y, fused: bool = False):
        q, k, v = self.prepare(x, y, apply_scale=not fused)
        if fused:
            scale = 1.0 / math.sqrt(self.size)
            o = by_kernel(q, k, v, scale=scale)
        else:
            o = torch.softmax(q @ k.transpose(-1, -2), dim=-1) @ v
        return o.transpose(-2, -3)
