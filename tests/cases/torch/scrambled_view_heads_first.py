# case: scrambled_view_heads_first expect: scrambled-heads line: 14 alt: 15,16,18
import torch
from torch import nn


class Shuffled(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x):
        b, n, c = x.shape
        q = self.q(x).reshape(b, self.heads, n, self.d)
        k = self.k(x).reshape(b, self.heads, n, self.d)
        v = self.v(x).reshape(b, self.heads, n, self.d)
        p = torch.softmax(q @ k.transpose(-2, -1) / self.d**0.5, dim=-1)
        return (p @ v).reshape(b, n, c)
