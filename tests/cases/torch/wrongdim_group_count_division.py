# case: wrongdim_group_count_division expect: wrong-dim-scale line: 20
import torch
from torch import nn


class KvWidth(nn.Module):
    """Grouped keys: the root is taken of all key heads together."""

    def __init__(self, dim, heads, kv_heads):
        super().__init__()
        self.heads, self.kv_heads, self.d = heads, kv_heads, dim // heads
        self.kv_dim = kv_heads * self.d
        self.wq, self.wk, self.wv = nn.Linear(dim, dim), nn.Linear(dim, self.kv_dim), nn.Linear(dim, self.kv_dim)

    def forward(self, x):
        b, n, c = x.shape
        q = self.wq(x).view(b, n, self.heads, self.d).transpose(1, 2)
        k = self.wk(x).view(b, n, self.kv_heads, self.d).transpose(1, 2).repeat_interleave(self.heads // self.kv_heads, 1)
        v = self.wv(x).view(b, n, self.kv_heads, self.d).transpose(1, 2).repeat_interleave(self.heads // self.kv_heads, 1)
        s = q @ k.transpose(-1, -2) * self.kv_dim**-0.5
        return (s.softmax(-1) @ v).transpose(1, 2).reshape(b, n, c)
