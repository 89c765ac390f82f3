# case: clean_loop_over_head_slices expect: clean
# proved: yes
import torch
from torch import nn


class SliceBySlice(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.size = heads, dim // heads
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        pieces = []
        for i in range(self.heads):
            lo, hi = i * self.size, (i + 1) * self.size
            qi, ki, vi = q[..., lo:hi], k[..., lo:hi], v[..., lo:hi]
            w = torch.softmax(qi @ ki.transpose(-1, -2) / self.size**0.5, dim=-1)
            pieces.append(w @ vi)
        return torch.cat(pieces, dim=-1)
