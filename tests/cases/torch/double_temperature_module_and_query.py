# case: double_temperature_module_and_query expect: double-scale line: 24 alt: 12,23
import torch
from torch import nn


class Dot(nn.Module):
    def __init__(self, temperature):
        super().__init__()
        self.temperature = temperature

    def forward(self, q, k, v):
        return torch.softmax(torch.bmm(q, k.transpose(1, 2)) / self.temperature, dim=-1) @ v


class Pair(nn.Module):
    def __init__(self, width, d_k):
        super().__init__()
        self.d_k = d_k
        self.q, self.k, self.v = nn.Linear(width, d_k), nn.Linear(width, d_k), nn.Linear(width, width)
        self.dot = Dot(d_k**0.5)

    def forward(self, x):
        q = self.q(x) / self.d_k**0.5
        return self.dot(q, self.k(x), self.v(x))
