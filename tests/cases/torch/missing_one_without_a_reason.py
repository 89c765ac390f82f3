# case: missing_one_without_a_reason expect: missing-scale line: 10 alt: 16,17
import torch
from torch import nn


class Kept(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.per_head = heads, width // heads
        self.scale = 1.0
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, self.per_head).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1)
        return (scores * self.scale).softmax(dim=-1) @ v
