# case: unknown_absorbed_latent_query expect: clean
import torch
from torch import nn


class Absorbed(nn.Module):
    """The key's up-projection is multiplied into the query, so latents are compared; the factor stays that of the head."""

    def __init__(self, dim, heads, nope, rope, latent):
        super().__init__()
        self.heads, self.nope, self.rope, self.latent = heads, nope, rope, latent
        self.scale = (nope + rope) ** -0.5
        self.wq = nn.Linear(dim, heads * (nope + rope), bias=False)
        self.w_kc = nn.Parameter(torch.randn(heads, nope, latent) / nope**0.5)
        self.kv_down = nn.Linear(dim, latent + rope, bias=False)

    def forward(self, x):
        b, n, _ = x.shape
        q_nope, q_rope = self.wq(x).view(b, n, self.heads, -1).split([self.nope, self.rope], dim=-1)
        q_latent = torch.einsum("bnhd,hdc->bnhc", q_nope, self.w_kc)
        q = torch.cat([q_latent, q_rope], dim=-1)
        kv = self.kv_down(x)
        scores = torch.einsum("bnhc,bmc->bhnm", q, kv) * self.scale
        return torch.einsum("bhnm,bmc->bnhc", scores.softmax(dim=-1), kv[..., : self.latent])
