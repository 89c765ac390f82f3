# case: wrongdim_baddbmm_alpha expect: wrong-dim-scale line: 12 alt: 19
import math

import torch
from torch import nn


class Batched(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads, self.d = heads, hidden // heads
        self.alpha = 1.0 / math.sqrt(hidden)
        self.qkv = nn.Linear(hidden, 3 * hidden)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, self.d).permute(2, 0, 3, 1, 4).reshape(3, b * self.heads, n, self.d)
        empty = torch.zeros(b * self.heads, n, n)
        s = torch.baddbmm(empty, q, k.transpose(1, 2), beta=0, alpha=self.alpha)
        return torch.bmm(s.softmax(-1), v).view(b, self.heads, n, self.d).transpose(1, 2).reshape(b, n, c)
