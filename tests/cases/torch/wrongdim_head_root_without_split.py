# case: wrongdim_head_root_without_split expect: wrong-dim-scale line: 12 alt: 17
import torch
from torch import nn


class NeverSplit(nn.Module):
    """heads and dim_head are given, but the product runs over the whole inner width."""

    def __init__(self, dim, heads=4, dim_head=16):
        super().__init__()
        inner = heads * dim_head
        self.scale = dim_head**-0.5
        self.to_q, self.to_k, self.to_v = (nn.Linear(dim, inner, bias=False) for _ in range(3))

    def forward(self, x, context):
        q, k, v = self.to_q(x), self.to_k(context), self.to_v(context)
        sim = torch.einsum("bid,bjd->bij", q, k) * self.scale
        return torch.einsum("bij,bjd->bid", sim.softmax(dim=-1), v)
