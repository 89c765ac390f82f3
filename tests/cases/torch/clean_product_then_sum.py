# case: clean_product_then_sum expect: clean
# proved: yes
import math

import torch
from torch import nn


class Neighbours(nn.Module):
    """Each node reads from its own list of neighbours."""

    def __init__(self, in_features, out_features):
        super().__init__()
        self.out_features = out_features
        self.lin_q = nn.Linear(in_features, out_features)
        self.lin_k = nn.Linear(in_features, out_features)
        self.lin_v = nn.Linear(in_features, out_features)

    def forward(self, nodes, nearby):
        q = self.lin_q(nodes).unsqueeze(-2)
        k, v = self.lin_k(nearby), self.lin_v(nearby)
        alpha = (q * k).sum(dim=-1) / math.sqrt(self.out_features)
        alpha = torch.softmax(alpha, dim=-1)
        return (alpha.unsqueeze(-1) * v).sum(dim=-2)
