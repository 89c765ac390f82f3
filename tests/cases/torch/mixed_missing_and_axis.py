# case: mixed_missing_and_axis expect: missing-scale line: 13 alt: 14
# case: mixed_missing_and_axis expect: softmax-axis line: 14
import torch
from torch import nn


class SidewaysUnscaled(nn.Module):
    def __init__(self, width, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(width, d), nn.Linear(width, d), nn.Linear(width, width)

    def forward(self, x):
        e = torch.bmm(self.q(x), self.k(x).transpose(1, 2))
        a = torch.softmax(e, dim=1)
        return torch.bmm(a, self.v(x))
