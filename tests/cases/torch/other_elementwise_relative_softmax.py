# case: other_elementwise_relative_softmax expect: clean
import torch
from torch import nn


class PerFeature(nn.Module):
    """Every feature weighs its neighbours by itself: products without a sum."""

    def __init__(self, width, reach):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
        self.reach = reach

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        k = torch.stack([torch.roll(k, i, dims=1) for i in range(self.reach)], dim=2)
        v = torch.stack([torch.roll(v, i, dims=1) for i in range(self.reach)], dim=2)
        w = torch.softmax(torch.einsum("bnd,bnrd->bnrd", q, k), dim=2)
        return torch.einsum("bnrd,bnrd->bnd", w, v)
