# case: other_slots_over_queries_renormed expect: clean
# proved: yes
import torch
from torch import nn


class ObjectFiles(nn.Module):
    """The slots compete for every input (softmax over the queries), then each slot takes a mean."""

    def __init__(self, dim, slots, heads):
        super().__init__()
        self.heads, self.d = heads, dim // heads
        self.scale = self.d**-0.5
        self.slots = nn.Parameter(torch.randn(1, slots, dim))
        self.to_q, self.to_k, self.to_v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    def by_head(self, t):
        return t.view(t.shape[0], t.shape[1], self.heads, self.d).transpose(1, 2)

    def forward(self, x):
        q = self.by_head(self.to_q(self.slots.expand(x.shape[0], -1, -1)))
        k, v = self.by_head(self.to_k(x)), self.by_head(self.to_v(x))
        dots = torch.einsum("bhid,bhjd->bhij", q, k) * self.scale
        attn = dots.softmax(dim=-2)
        attn = attn / attn.sum(dim=-1, keepdim=True)
        return torch.einsum("bhjd,bhij->bhid", v, attn).transpose(1, 2).flatten(2)
