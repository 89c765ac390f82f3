# case: wrongdim_property expect: wrong-dim-scale line: 14 alt: 19
import torch
from torch import nn


class Property(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.width, self.heads = width, heads
        self.qkv = nn.Linear(width, 3 * width)

    @property
    def factor(self):
        return self.width**-0.5

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        s = q @ k.transpose(-2, -1) * self.factor
        return (s.softmax(-1) @ v).transpose(1, 2).reshape(b, n, c)
