# case: unrooted_attr_reciprocal expect: unrooted-scale line: 11 alt: 16
import torch
from einops import rearrange
from torch import nn


class Reciprocal(nn.Module):
    def __init__(self, dim, heads=4, dim_head=16):
        super().__init__()
        self.heads = heads
        self.scale = 1.0 / dim_head
        self.to_qkv = nn.Linear(dim, heads * dim_head * 3)

    def forward(self, x):
        q, k, v = (rearrange(t, "b n (h d) -> b h n d", h=self.heads) for t in self.to_qkv(x).chunk(3, dim=-1))
        dots = torch.einsum("bhid,bhjd->bhij", q, k) * self.scale
        return rearrange(dots.softmax(-1) @ v, "b h n d -> b n (h d)")
