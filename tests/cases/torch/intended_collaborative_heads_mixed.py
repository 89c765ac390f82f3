# case: intended_collaborative_heads_mixed expect: clean
"""Collaborative heads (q times a learned mixing vector, over a width all heads share) and a partial rotation: the factor of the mix is
forgotten, and the two parts of `t[..., :l]`, `t[..., l:]` count as twice the width when they are joined again."""

import torch
from torch import nn


def half_turned(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


def turn(t, freqs):
    return t * freqs.cos() + half_turned(t) * freqs.sin()


class Collaborative(nn.Module):
    def __init__(self, dim, dim_head=64, heads=8, shrink=0.3):
        super().__init__()
        self.heads, self.scale = heads, dim_head**-0.5
        width = int(shrink * dim_head * heads)
        self.mix = nn.Parameter(torch.randn(heads, width))
        self.to_q, self.to_k, self.to_v = nn.Linear(dim, width), nn.Linear(dim, width), nn.Linear(dim, dim_head * heads)

    def forward(self, x, freqs):
        b, n, _ = x.shape
        q = torch.einsum("bid,hd->bhid", self.to_q(x), self.mix)
        k = self.to_k(x)[:, None]
        v = self.to_v(x).view(b, n, self.heads, -1).transpose(1, 2)
        width = freqs.shape[-1]
        (q_l, q_r), (k_l, k_r) = map(lambda t: (t[..., :width], t[..., width:]), (q, k))
        q_l, k_l = map(lambda t: turn(t, freqs), (q_l, k_l))
        q, k = map(lambda t: torch.cat(t, dim=-1), ((q_l, q_r), (k_l, k_r)))
        k = k.expand(-1, self.heads, -1, -1)
        weights = (torch.einsum("bhid,bhjd->bhij", q, k) * self.scale).softmax(dim=-1)
        return (weights @ v).transpose(1, 2).reshape(b, n, -1)
