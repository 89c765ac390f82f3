# case: unstable_exp_over_sum expect: unstable-softmax line: 15 alt: 16
import torch
from torch import nn


class Explosive(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (f(x).view(b, n, self.heads, self.d).transpose(1, 2) for f in (self.q, self.k, self.v))
        e = torch.exp(q @ k.transpose(-1, -2) / self.d**0.5)
        p = e / e.sum(dim=-1, keepdim=True)
        return (p @ v).transpose(1, 2).reshape(b, n, c)
