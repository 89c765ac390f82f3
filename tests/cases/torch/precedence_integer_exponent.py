# case: precedence_integer_exponent expect: scale-precedence line: 15
import torch
from torch import nn


class IntegerExponent(nn.Module):
    """1 // 2 is zero, so the divisor is one."""

    def __init__(self, width, d):
        super().__init__()
        self.d = d
        self.q, self.k, self.v = nn.Linear(width, d), nn.Linear(width, d), nn.Linear(width, width)

    def forward(self, x):
        s = self.q(x) @ self.k(x).transpose(-1, -2) / self.d ** (1 // 2)
        return torch.softmax(s, dim=-1) @ self.v(x)
