# case: wrongdim_unified_width_swin expect: wrong-dim-scale line: 10 alt: 17,18
import torch
from torch import nn


class Pane(nn.Module):
    def __init__(self, dim, num_heads, qk_scale=None):
        super().__init__()
        self.num_heads = num_heads
        self.scale = qk_scale or dim**-0.5
        self.qkv = nn.Linear(dim, dim * 3)

    def forward(self, x):
        B_, N, C = x.shape
        qkv = self.qkv(x).reshape(B_, N, 3, self.num_heads, C // self.num_heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        q = q * self.scale
        attn = (q @ k.transpose(-2, -1)).softmax(dim=-1)
        return (attn @ v).transpose(1, 2).reshape(B_, N, C)
