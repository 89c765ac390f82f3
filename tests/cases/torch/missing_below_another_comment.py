# case: missing_below_another_comment expect: missing-scale line: 15
import torch
from torch import nn


# this attention gets a bias and does not use dropout
class BiasedAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q = nn.Linear(dim, dim)
        self.k = nn.Linear(dim, dim)
        self.v = nn.Linear(dim, dim)

    def forward(self, x, bias):
        scores = self.q(x) @ self.k(x).transpose(-2, -1) + bias
        return torch.softmax(scores, dim=-1) @ self.v(x)
