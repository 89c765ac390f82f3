# case: implicit_module_in_sequential expect: implicit-softmax-dim line: 11 alt: 16
import torch
from torch import nn


class OldSequential(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.qkv = nn.Linear(width, 3 * width)
        self.attend = nn.Sequential(nn.Softmax(), nn.Dropout(0.1))

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, self.d).permute(2, 0, 3, 1, 4)
        p = self.attend(q @ k.transpose(-1, -2) / self.d**0.5)
        return (p @ v).transpose(1, 2).reshape(b, n, c)
