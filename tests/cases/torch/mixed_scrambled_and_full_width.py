# case: mixed_scrambled_and_full_width expect: scrambled-heads line: 17 alt: 18,19,21
# case: mixed_scrambled_and_full_width expect: wrong-dim-scale line: 20
import math

import torch
from torch import nn


class Beginner(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.width, self.heads, self.d = width, heads, width // heads
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x):
        b, n, c = x.shape
        q = self.q(x).view(b, self.heads, n, self.d)
        k = self.k(x).view(b, self.heads, n, self.d)
        v = self.v(x).view(b, self.heads, n, self.d)
        s = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(self.width)
        return torch.matmul(s.softmax(dim=-1), v).view(b, n, c)
