# case: double_query_and_score_division expect: double-scale line: 19 alt: 17
import math

import torch
from torch import nn


class Cautious(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (f(x).view(b, n, self.heads, self.d).transpose(1, 2) for f in (self.q, self.k, self.v))
        q = q / math.sqrt(self.d)
        s = torch.matmul(q, k.transpose(-2, -1))
        s = s / math.sqrt(self.d)
        return torch.matmul(s.softmax(-1), v).transpose(1, 2).reshape(b, n, c)
