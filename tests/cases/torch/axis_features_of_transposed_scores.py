# case: axis_features_of_transposed_scores expect: softmax-axis line: 17
import torch
from torch import nn


class Transposed(nn.Module):
    """The scores are (key, query); the last axis is the queries', the values are summed over the keys."""

    def __init__(self, width, d):
        super().__init__()
        self.d = d
        self.q, self.k, self.v = nn.Linear(width, d), nn.Linear(width, d), nn.Linear(width, width)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        s = torch.matmul(k, q.transpose(1, 2)) / self.d**0.5
        p = s.softmax(dim=-1)
        return torch.einsum("bkq,bkd->bqd", p, v)
