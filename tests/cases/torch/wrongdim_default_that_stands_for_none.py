# case: wrongdim_default_that_stands_for_none expect: wrong-dim-scale line: 8 alt: 11
import torch
from torch import nn


def attend(query, key, value, qk_scale=-1, extra=0.0):
    """A factor below zero stands for that of the sequence."""
    qk_scale = qk_scale if qk_scale > 0 else query.shape[-2] ** -0.5
    scores = query @ key
    if qk_scale != 1:
        scores = scores * qk_scale
    if extra > 0:
        scores = scores * extra
    return torch.softmax(scores, dim=-1) @ value


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.head_dim = heads, dim // heads
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, self.head_dim).transpose(1, 2)

    def forward(self, x):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        return attend(q, k.transpose(-2, -1), v)
