# case: double_several_flags_handed_on expect: double-scale line: 33
import math

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    """The factor is left out where two flags are set, and the kernel is called where one is."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.dim_head = heads, dim
        self.q = nn.Linear(dim, dim * heads)
        self.k = nn.Linear(dim, dim * heads)
        self.v = nn.Linear(dim, dim * heads)

    def split(self, x):
        return x.view(x.shape[:-1] + (self.heads, -1)).transpose(-2, -3)

    def prepare(self, x, apply_scale=True):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        if apply_scale:
            q = q / math.sqrt(self.dim_head)
        return q, k, v

    def forward(self, x, use_fused=False, use_memory_efficient=False):
        if use_fused and x.shape[-2] <= 16:
            use_fused = False
        q, k, v = self.prepare(x, apply_scale=not (use_fused and use_memory_efficient))
        if use_fused:
            return F.scaled_dot_product_attention(q, k, v)
        return torch.softmax(q @ k.transpose(-2, -1), dim=-1) @ v
