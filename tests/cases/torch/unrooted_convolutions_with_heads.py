# case: unrooted_convolutions_with_heads expect: unrooted-scale line: 18
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, channels, heads):
        super().__init__()
        self.heads, self.d = heads, channels // heads
        self.a, self.b, self.c = nn.Conv2d(channels, channels, 1), nn.Conv2d(channels, channels, 1), nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        n, c, h, w = x.size()
        q = self.a(x).view(n, self.heads, self.d, h * w).transpose(2, 3)
        k = self.b(x).view(n, self.heads, self.d, h * w)
        v = self.c(x).view(n, self.heads, self.d, h * w).transpose(2, 3)

        return torch.softmax(q @ k / self.d, dim=-1) @ v
