# case: multmask_fill_zero expect: multiplicative-mask line: 16
import torch
from torch import nn


class ZeroFill(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x, mask):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, self.d).permute(2, 0, 3, 1, 4)
        s = q @ k.transpose(-2, -1) / self.d**0.5
        s = s.masked_fill(mask[:, None, None, :] == 0, 0)
        return (s.softmax(-1) @ v).transpose(1, 2).reshape(b, n, c)
