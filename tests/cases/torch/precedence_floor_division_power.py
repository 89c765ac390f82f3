# case: precedence_floor_division_power expect: scale-precedence line: 10 alt: 16
import torch
from torch import nn


class FloorFirst(nn.Module):
    def __init__(self, dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.scale = dim // num_heads ** -0.5
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.num_heads, c // self.num_heads).permute(2, 0, 3, 1, 4)
        attn = (q * self.scale) @ k.transpose(-2, -1)
        return (attn.softmax(-1) @ v).transpose(1, 2).reshape(b, n, c)
