# case: clean_talking_heads_mix expect: clean
# proved: yes
import torch
from einops import rearrange
from torch import einsum, nn


class Gossip(nn.Module):
    def __init__(self, dim, heads=4, dim_head=16):
        super().__init__()
        self.heads, self.scale = heads, dim_head**-0.5
        self.to_qkv = nn.Linear(dim, heads * dim_head * 3, bias=False)
        self.before = nn.Parameter(torch.randn(heads, heads))
        self.after = nn.Parameter(torch.randn(heads, heads))

    def forward(self, x):
        q, k, v = (rearrange(t, "b n (h d) -> b h n d", h=self.heads) for t in self.to_qkv(x).chunk(3, dim=-1))
        dots = einsum("b h i d, b h j d -> b h i j", q, k) * self.scale
        dots = einsum("b h i j, h g -> b g i j", dots, self.before)
        attn = dots.softmax(dim=-1)
        attn = einsum("b h i j, h g -> b g i j", attn, self.after)
        return rearrange(einsum("b h i j, b h j d -> b h i d", attn, v), "b h n d -> b n (h d)")
