# case: missing_einops_chain expect: missing-scale line: 15 alt: 18
import torch
from einops import rearrange
from torch import einsum, nn


class Tapestry(nn.Module):
    def __init__(self, dim, heads=4, dim_head=16):
        super().__init__()
        self.heads = heads
        self.to_qkv = nn.Linear(dim, heads * dim_head * 3, bias=False)

    def forward(self, x, mask=None):
        q, k, v = map(lambda t: rearrange(t, "b n (h d) -> b h n d", h=self.heads), self.to_qkv(x).chunk(3, dim=-1))
        sim = einsum("b h i d, b h j d -> b h i j", q, k)
        if mask is not None:
            sim = sim.masked_fill(~rearrange(mask, "b j -> b 1 1 j"), -torch.finfo(sim.dtype).max)
        attn = sim.softmax(dim=-1)
        return rearrange(einsum("b h i j, b h j d -> b h i d", attn, v), "b h n d -> b n (h d)")
