# case: constant_eight_of_free_head expect: constant-scale line: 15
import torch
from torch import nn


class AlwaysEight(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, self.d).permute(2, 0, 3, 1, 4)
        w = torch.softmax(q @ k.transpose(-2, -1) / 8, dim=-1)
        return (w @ v).transpose(1, 2).reshape(b, n, c)
