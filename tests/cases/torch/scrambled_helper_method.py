# case: scrambled_helper_method expect: scrambled-heads line: 14 alt: 18,20
import torch
from torch import nn


class HelperShuffles(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))

    def apart(self, t):
        b, n, _ = t.shape
        return t.view(b, self.heads, n, self.d)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.apart(self.q(x)), self.apart(self.k(x)), self.apart(self.v(x))
        p = torch.softmax(q @ k.transpose(-2, -1) * self.d**-0.5, dim=-1)
        return (p @ v).view(b, n, c)
