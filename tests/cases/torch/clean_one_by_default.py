# case: clean_one_by_default expect: clean
# verdict: intended
import torch
from torch import nn


class Handed(nn.Module):
    def __init__(self, width, heads, scale=1.0):
        super().__init__()
        self.heads, self.per_head = heads, width // heads
        self.scale = scale
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, self.per_head).permute(2, 0, 3, 1, 4)
        return (q @ k.transpose(-2, -1) * self.scale).softmax(dim=-1) @ v
