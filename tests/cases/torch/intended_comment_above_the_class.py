# case: intended_comment_above_the_class expect: clean
# verdict: intended
import torch
from torch import nn


# this attention gets a bias and does not use softmax scaling
class BiasedAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q = nn.Linear(dim, dim)
        self.k = nn.Linear(dim, dim)
        self.v = nn.Linear(dim, dim)

    def forward(self, x, bias):
        scores = self.q(x) @ self.k(x).transpose(-2, -1) + bias
        return torch.softmax(scores, dim=-1) @ self.v(x)
