# case: intended_l2norm_constant_ten expect: clean
# verdict: intended
import torch
import torch.nn.functional as F
from einops import rearrange
from torch import einsum, nn


class UnitVectors(nn.Module):
    def __init__(self, dim, heads=4, dim_head=16, temperature=10):
        super().__init__()
        self.heads, self.temperature = heads, temperature
        self.to_qkv = nn.Linear(dim, heads * dim_head * 3, bias=False)

    def forward(self, x):
        q, k, v = map(lambda t: rearrange(t, "b n (h d) -> b h n d", h=self.heads), self.to_qkv(x).chunk(3, dim=-1))
        q, k = map(lambda t: F.normalize(t, dim=-1, p=2), (q, k))
        sim = einsum("b h i d, b h j d -> b h i j", q, k) * self.temperature
        return rearrange(sim.softmax(-1) @ v, "b h n d -> b n (h d)")
