# case: clean_rearrange_layers expect: clean
# proved: yes
import torch
from einops.layers.torch import Rearrange
from torch import einsum, nn


class Loom(nn.Module):
    def __init__(self, dim, heads=4, dim_head=32):
        super().__init__()
        inner = heads * dim_head
        self.scale = dim_head**-0.5
        self.split_heads = Rearrange("b n (h d) -> b h n d", h=heads)
        self.merge_heads = Rearrange("b h n d -> b n (h d)")
        self.to_q = nn.Linear(dim, inner)
        self.to_k = nn.Linear(dim, inner)
        self.to_v = nn.Linear(dim, inner)

    def forward(self, threads, spools):
        k, v = self.to_k(spools), self.to_v(spools)
        k, v = map(self.split_heads, (k, v))
        q = self.split_heads(self.to_q(threads))
        dots = einsum("... i d, ... j d -> ... i j", q, k) * self.scale
        return self.merge_heads(dots.softmax(dim=-1) @ v)
