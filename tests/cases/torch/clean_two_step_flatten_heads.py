# case: clean_two_step_flatten_heads expect: clean
# proved: yes
import torch
from torch import nn


class Plaza(nn.Module):
    def __init__(self, dim, num_heads=8):
        super().__init__()
        self.num_heads = num_heads
        head_dim = dim // num_heads
        self.scale = head_dim**-0.5
        self.packed = nn.Linear(dim, dim * 3)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        n, rows, cols, _ = x.shape
        packed = self.packed(x).reshape(n, rows * cols, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)
        q, k, v = packed.reshape(3, n * self.num_heads, rows * cols, -1).unbind(0)
        attn = (q * self.scale) @ k.transpose(-2, -1)
        attn = attn.softmax(dim=-1)
        x = (attn @ v).view(n, self.num_heads, rows, cols, -1).permute(0, 2, 3, 1, 4).reshape(n, rows, cols, -1)
        return self.proj(x)
