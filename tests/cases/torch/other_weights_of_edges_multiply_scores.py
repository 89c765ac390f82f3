# case: other_weights_of_edges_multiply_scores expect: clean
import torch
from torch import nn


class Weighted(nn.Module):
    """A real-valued weight of every pair multiplies the scores; it is no mask."""

    def __init__(self, width, d):
        super().__init__()
        self.d = d
        self.q, self.k, self.v = nn.Linear(width, d), nn.Linear(width, d), nn.Linear(width, width)
        self.pair = nn.Bilinear(width, width, 1)

    def forward(self, x, edge_weight):
        s = self.q(x) @ self.k(x).transpose(1, 2) / self.d**0.5
        s = s * edge_weight
        return s.softmax(dim=-1) @ self.v(x)
