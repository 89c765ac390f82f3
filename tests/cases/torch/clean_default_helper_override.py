# case: clean_default_helper_override expect: clean
# proved: yes
import torch
from einops import rearrange
from torch import einsum, nn


def exists(value):
    return value is not None


def default(value, fallback):
    return value if exists(value) else fallback


class Mixer(nn.Module):
    def __init__(self, causal=False, scale=None):
        super().__init__()
        self.causal = causal
        self.scale = scale

    def forward(self, q, k, v, mask=None):
        scale = default(self.scale, q.shape[-1] ** -0.5)
        sim = einsum("b h i d, b h j d -> b h i j", q, k) * scale
        if exists(mask):
            sim = sim.masked_fill(~mask, -torch.finfo(sim.dtype).max)
        if self.causal:
            i, j = sim.shape[-2:]
            future = torch.ones((i, j), dtype=torch.bool, device=q.device).triu(j - i + 1)
            sim = sim.masked_fill(future, -torch.finfo(sim.dtype).max)
        return einsum("b h i j, b h j d -> b h i d", sim.softmax(dim=-1), v)


class MixerBlock(nn.Module):
    def __init__(self, dim, dim_head=64, heads=8):
        super().__init__()
        self.heads = heads
        self.mixer = Mixer(causal=True)
        self.to_qkv = nn.Linear(dim, dim_head * heads * 3, bias=False)
        self.to_out = nn.Linear(dim_head * heads, dim, bias=False)

    def forward(self, x):
        q, k, v = (rearrange(t, "b n (h d) -> b h n d", h=self.heads) for t in self.to_qkv(x).chunk(3, dim=-1))
        return self.to_out(rearrange(self.mixer(q, k, v), "b h n d -> b n (h d)"))
