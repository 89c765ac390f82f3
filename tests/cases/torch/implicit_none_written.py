# case: implicit_none_written expect: implicit-softmax-dim line: 14
import torch
from torch import nn


class NoneAxis(nn.Module):
    def __init__(self, width, d):
        super().__init__()
        self.d = d
        self.q, self.k, self.v = nn.Linear(width, d), nn.Linear(width, d), nn.Linear(width, width)

    def forward(self, x):
        s = self.q(x) @ self.k(x).transpose(1, 2) / self.d**0.5
        p = nn.functional.softmax(s, dim=None)
        return p @ self.v(x)
