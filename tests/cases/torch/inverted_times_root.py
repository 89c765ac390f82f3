# case: inverted_times_root expect: inverted-scale line: 18 alt: 12
import math

import torch
from torch import nn


class Louder(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.scale = math.sqrt(self.d)
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (f(x).view(b, n, self.heads, self.d).transpose(1, 2) for f in (self.q, self.k, self.v))
        s = torch.matmul(q, k.transpose(-2, -1)) * self.scale
        return torch.matmul(s.softmax(-1), v).transpose(1, 2).reshape(b, n, c)
