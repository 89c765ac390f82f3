# case: clean_latents_read_tokens expect: clean
# proved: yes
import torch
from einops import rearrange
from torch import einsum, nn


class Distiller(nn.Module):
    def __init__(self, dim, n_latents, heads=4, dim_head=16):
        super().__init__()
        self.heads, self.scale = heads, dim_head**-0.5
        self.latents = nn.Parameter(torch.randn(n_latents, dim))
        self.norm_tokens, self.norm_latents = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.to_q = nn.Linear(dim, heads * dim_head, bias=False)
        self.to_kv = nn.Linear(dim, heads * dim_head * 2, bias=False)

    def forward(self, tokens):
        latents = self.latents.expand(tokens.shape[0], -1, -1)
        tokens, latents = self.norm_tokens(tokens), self.norm_latents(latents)
        q = self.to_q(latents)
        k, v = self.to_kv(torch.cat((tokens, latents), dim=-2)).chunk(2, dim=-1)
        q, k, v = (rearrange(t, "b n (h d) -> b h n d", h=self.heads) for t in (q, k, v))
        q = q * self.scale
        sim = einsum("... i d, ... j d -> ... i j", q, k)
        sim = sim - sim.amax(dim=-1, keepdim=True).detach()
        return rearrange(sim.softmax(dim=-1) @ v, "b h n d -> b n (h d)")
