# case: clean_scale_read_after_transpose expect: clean
# proved: yes
import torch
from torch import nn


class Pixels2d(nn.Module):
    def __init__(self, dim, num_heads, dim_head):
        super().__init__()
        self.num_heads, self.dim_head = num_heads, dim_head
        self.qkv = nn.Conv2d(dim, num_heads * dim_head * 3, 1)

    def forward(self, x):
        B, C, H, W = x.shape
        q, k, v = self.qkv(x).reshape(B, 3, self.num_heads, self.dim_head, -1).unbind(1)
        q = q.transpose(-1, -2)
        v = v.transpose(-1, -2)
        attn = q @ k * q.size(-1) ** -0.5
        attn = attn.softmax(dim=-1)
        return (attn @ v).transpose(-1, -2).reshape(B, -1, H, W)
