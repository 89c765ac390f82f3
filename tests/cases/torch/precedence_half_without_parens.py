# case: precedence_half_without_parens expect: scale-precedence line: 13
import torch
from torch import nn


class Halved(nn.Module):
    def __init__(self, width, d_k):
        super().__init__()
        self.d_k = d_k
        self.q, self.k, self.v = nn.Linear(width, d_k), nn.Linear(width, d_k), nn.Linear(width, width)

    def forward(self, x):
        s = self.q(x) @ self.k(x).transpose(-1, -2) / self.d_k ** 1 / 2
        return torch.softmax(s, dim=-1) @ self.v(x)
