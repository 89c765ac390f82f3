# case: multmask_where_zero expect: multiplicative-mask line: 14
import torch
from torch import nn


class WhereZero(nn.Module):
    def __init__(self, width, d):
        super().__init__()
        self.d = d
        self.q, self.k, self.v = nn.Linear(width, d), nn.Linear(width, d), nn.Linear(width, width)

    def forward(self, x, keep):
        s = self.q(x) @ self.k(x).mT * self.d**-0.5
        s = torch.where(keep[:, None, :], s, torch.zeros_like(s))
        return s.softmax(dim=-1) @ self.v(x)
