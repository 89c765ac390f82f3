# case: bias_after_query_scaled_table_scaled_too expect: scaled-mask-or-bias line: 17
import torch
from torch import nn


class InsideBrackets(nn.Module):
    def __init__(self, dim, heads, window):
        super().__init__()
        self.heads = heads
        self.scale = (dim // heads) ** -0.5
        self.bias = nn.Parameter(torch.zeros(1, heads, window, window))
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        attn = self.scale * (q @ k.transpose(-2, -1) + self.bias)
        return (attn.softmax(dim=-1) @ v).transpose(1, 2).reshape(b, n, c)
