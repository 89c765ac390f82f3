# case: inverted_einsum_over_inverse expect: inverted-scale line: 16 alt: 11
import torch
from einops import rearrange
from torch import nn


class OverInverse(nn.Module):
    def __init__(self, dim, heads, dim_head):
        super().__init__()
        self.heads = heads
        self.scale = dim_head**-0.5
        self.to_qkv = nn.Linear(dim, heads * dim_head * 3)

    def forward(self, x):
        q, k, v = (rearrange(t, "b n (h d) -> b h n d", h=self.heads) for t in self.to_qkv(x).chunk(3, dim=-1))
        sim = torch.einsum("bhid,bhjd->bhij", q, k) / self.scale
        return rearrange(sim.softmax(dim=-1) @ v, "b h n d -> b n (h d)")
