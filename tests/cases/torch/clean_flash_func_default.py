# case: clean_flash_func_default expect: clean
# proved: yes
import torch
from einops import rearrange
from flash_attn import flash_attn_qkvpacked_func
from torch import nn


class PackedRapids(nn.Module):
    def __init__(self, dim, heads, causal=False):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.wqkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        qkv = rearrange(self.wqkv(x), "b s (three h d) -> b s three h d", three=3, h=self.heads)
        context = flash_attn_qkvpacked_func(qkv, causal=self.causal)
        return self.out(rearrange(context, "b s h d -> b s (h d)"))
