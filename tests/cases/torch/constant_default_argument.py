# case: constant_default_argument expect: constant-scale line: 17 alt: 11
import torch
from torch import nn


class DefaultEight(nn.Module):
    """The divisor is an argument that nobody sets, and the head size is free."""

    def __init__(self, dim, heads, divisor=8.0):
        super().__init__()
        self.heads, self.divisor = heads, divisor
        self.q, self.k, self.v = (nn.Linear(dim, dim) for _ in range(3))

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (f(x).view(b, n, self.heads, c // self.heads).transpose(1, 2) for f in (self.q, self.k, self.v))
        s = torch.matmul(q, k.transpose(-2, -1)) / self.divisor
        return torch.matmul(s.softmax(dim=-1), v).transpose(1, 2).reshape(b, n, c)
