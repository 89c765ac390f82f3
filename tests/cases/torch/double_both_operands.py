# case: double_both_operands expect: double-scale line: 18 alt: 16,17,19
import torch
from torch import nn


class BothSides(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.d = heads, dim // heads
        self.scale = self.d**-0.5
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, self.d).permute(2, 0, 3, 1, 4).unbind(0)
        q = q * self.scale
        k = k * self.scale
        w = q @ k.transpose(-2, -1)
        return (w.softmax(-1) @ v).transpose(1, 2).reshape(b, n, c)
