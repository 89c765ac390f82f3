# case: axis_batch_of_three expect: softmax-axis line: 15 alt: 11
import torch
from torch import nn


class OverBatch(nn.Module):
    def __init__(self, width, d):
        super().__init__()
        self.d = d
        self.q, self.k, self.v = nn.Linear(width, d), nn.Linear(width, d), nn.Linear(width, width)
        self.normalise = nn.Softmax(dim=0)

    def forward(self, x):
        s = torch.bmm(self.q(x), self.k(x).transpose(1, 2)) / self.d**0.5
        return torch.bmm(self.normalise(s), self.v(x))
