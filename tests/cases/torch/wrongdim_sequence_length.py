# case: wrongdim_sequence_length expect: wrong-dim-scale line: 15 alt: 16
import math

import torch
from torch import nn


class Lengthy(nn.Module):
    def __init__(self, width, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(width, d), nn.Linear(width, d), nn.Linear(width, d)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        scale = 1 / math.sqrt(q.shape[1])
        w = torch.einsum("bqd,bkd->bqk", q, k) * scale
        return torch.einsum("bqk,bkd->bqd", w.softmax(dim=-1), v)
