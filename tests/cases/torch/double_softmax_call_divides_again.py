# case: double_softmax_call_divides_again expect: double-scale line: 12 alt: 10,23
import torch
from einops import einsum, rearrange
from torch import nn


def grouped(query, key, value):
    d = query.size(-1)
    root = d**0.5
    query = query / root
    similarity = einsum(query, key, "b h n d, b h s d -> b h n s")
    return einsum(torch.softmax(similarity / root, dim=-1), value, "b h n s, b h s d -> b h n d")


class Grouped(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = (rearrange(f(x), "b n (h d) -> b h n d", h=self.heads) for f in (self.q, self.k, self.v))
        return rearrange(grouped(q, k, v), "b h n d -> b n (h d)")
