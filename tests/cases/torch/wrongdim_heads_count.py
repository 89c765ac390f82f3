# case: wrongdim_heads_count expect: wrong-dim-scale line: 10 alt: 16
import torch
from torch import nn


class Counting(nn.Module):
    def __init__(self, dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.scale = num_heads**-0.5
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.num_heads, c // self.num_heads).permute(2, 0, 3, 1, 4)
        s = (q @ k.transpose(-2, -1)) * self.scale
        return (s.softmax(-1) @ v).transpose(1, 2).reshape(b, n, c)
