# case: clean_kernel_changed_before_the_factor expect: clean
# proved: yes
import math

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    """Short inputs fall back to the plain product before the factor is left out for a kernel."""

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

    def forward(self, x, kernel="torch"):
        assert kernel in ["torch", "tri", "fused"]
        if x.shape[-2] <= 16:
            kernel = "torch"
        q, k, v = self.prepare(x, apply_scale=kernel in ["torch", "tri"])
        if kernel == "fused":
            return F.scaled_dot_product_attention(q, k, v)
        return self.plain(q, k, v)

    def plain(self, q, k, v):
        return torch.softmax(q @ k.transpose(-2, -1), dim=-1) @ v
