# case: missing_scale_attribute_overwritten expect: missing-scale line: 16 alt: 18
import torch
from torch import nn


class Overwritten(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.d = heads, dim // heads
        self.scale = self.d**-0.5
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (f(x).view(b, n, self.heads, self.d).transpose(1, 2) for f in (self.q, self.k, self.v))
        scores = q @ k.transpose(-1, -2)
        scaled = scores * self.scale
        return (scores.softmax(dim=-1) @ v).transpose(1, 2).reshape(b, n, c)
