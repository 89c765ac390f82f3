# case: unrooted_minus_one_power expect: unrooted-scale line: 13
import torch
from torch import nn


class PowerOfOne(nn.Module):
    def __init__(self, width, d_k):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(width, d_k), nn.Linear(width, d_k), nn.Linear(width, width)

    def forward(self, x):
        q, k = self.q(x), self.k(x)
        s = (q @ k.transpose(1, 2)) * k.size(-1) ** -1
        return s.softmax(dim=-1) @ self.v(x)
