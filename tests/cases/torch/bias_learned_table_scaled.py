# case: bias_learned_table_scaled expect: scaled-mask-or-bias line: 17 alt: 16
import torch
from torch import nn


class TableFirst(nn.Module):
    def __init__(self, dim, heads, size):
        super().__init__()
        self.heads, self.d = heads, dim // heads
        self.table = nn.Parameter(torch.zeros(heads, size, size))
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, self.d).permute(2, 0, 3, 1, 4)
        s = q @ k.transpose(-2, -1) + self.table[:, :n, :n]
        s = s / self.d**0.5
        return (s.softmax(-1) @ v).transpose(1, 2).reshape(b, n, c)
