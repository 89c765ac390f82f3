# case: wrongdim_value_width_differs expect: wrong-dim-scale line: 17
import math

import torch
from torch import nn


class ValueWidth(nn.Module):
    """Keys are 16 wide, values as wide as the input: the root of the value's width is wrong here."""

    def __init__(self, width, d_k):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(width, d_k), nn.Linear(width, d_k), nn.Linear(width, width)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        s = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(v.size(-1))
        return torch.matmul(s.softmax(dim=-1), v)
