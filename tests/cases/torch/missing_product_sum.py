# case: missing_product_sum expect: missing-scale line: 13 alt: 14
import torch
from torch import nn


class EdgeReader(nn.Module):
    def __init__(self, width, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(width, d), nn.Linear(width, d), nn.Linear(width, width)

    def forward(self, nodes, nearby):
        q, k, v = self.q(nodes).unsqueeze(1), self.k(nearby), self.v(nearby)
        e = (q * k).sum(-1)
        a = torch.softmax(e, dim=-1)
        return (a.unsqueeze(-1) * v).sum(1)
