# case: clean_multi_query_null_kv expect: clean
# proved: yes
import torch
from einops import rearrange, repeat
from torch import einsum, nn


class OneKeyring(nn.Module):
    def __init__(self, dim, heads=8, dim_head=64):
        super().__init__()
        self.heads = heads
        self.scale = dim_head**-0.5
        self.null_kv = nn.Parameter(torch.randn(2, dim_head))
        self.to_q = nn.Linear(dim, dim_head * heads, bias=False)
        self.to_kv = nn.Linear(dim, dim_head * 2, bias=False)

    def forward(self, x):
        b = x.shape[0]
        q, k, v = (self.to_q(x), *self.to_kv(x).chunk(2, dim=-1))
        q = rearrange(q, "b n (h d) -> b h n d", h=self.heads) * self.scale
        nk, nv = map(lambda t: repeat(t, "d -> b 1 d", b=b), self.null_kv.unbind(dim=-2))
        k = torch.cat((nk, k), dim=-2)
        v = torch.cat((nv, v), dim=-2)
        sim = einsum("b h i d, b j d -> b h i j", q, k)
        attn = sim.softmax(dim=-1, dtype=torch.float32).to(sim.dtype)
        return rearrange(einsum("b h i j, b j d -> b h i d", attn, v), "b h n d -> b n (h d)")
