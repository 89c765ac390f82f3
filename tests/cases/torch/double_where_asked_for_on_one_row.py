# case: double_where_asked_for_on_one_row expect: double-scale line: 15 alt: 14
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
        self.width = width

    def forward(self, x, twice: bool):
        q, k, v = self.q(x), self.k(x), self.v(x)
        if twice: q = q * self.width**-0.5
        return torch.softmax(q @ k.transpose(-2, -1) * self.width**-0.5, dim=-1) @ v
