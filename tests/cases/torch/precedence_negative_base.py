# case: precedence_negative_base expect: scale-precedence line: 17
import torch
from torch import nn


class Unbracketed(nn.Module):
    """`dim / heads ** 0.5` is not the root of the head: the power binds first."""

    def __init__(self, dim, heads):
        super().__init__()
        self.dim, self.heads = dim, heads
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (t.view(b, n, self.heads, c // self.heads).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1))
        s = q @ k.transpose(-1, -2) / (self.dim / self.heads ** 0.5)
        return (s.softmax(dim=-1) @ v).transpose(1, 2).reshape(b, n, c)
