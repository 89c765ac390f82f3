# case: multmask_fill_tiny_positive expect: multiplicative-mask line: 19
import math

import torch
from torch import nn


class TinyFill(nn.Module):
    """1e-9 where -1e9 was meant."""

    def __init__(self, width, d):
        super().__init__()
        self.d = d
        self.q, self.k, self.v = nn.Linear(width, d), nn.Linear(width, d), nn.Linear(width, width)

    def forward(self, x, mask=None):
        s = torch.matmul(self.q(x), self.k(x).transpose(-2, -1)) / math.sqrt(self.d)
        if mask is not None:
            s = s.masked_fill(mask == 0, 1e-9)
        return torch.matmul(torch.softmax(s, dim=-1), self.v(x))
