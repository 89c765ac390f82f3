# case: other_argument_reshaped_heads_first expect: clean
import torch
from torch import nn


class GlobalTokens(nn.Module):
    """`q_global` arrives laid out by heads; its reshape only drops an axis of one."""

    def __init__(self, dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.scale = (dim // num_heads) ** -0.5
        self.kv = nn.Linear(dim, 2 * dim)

    def forward(self, x, q_global):
        B, N, C = x.shape
        kv = self.kv(x).reshape(B, N, 2, self.num_heads, C // self.num_heads).permute(2, 0, 3, 1, 4)
        k, v = kv[0], kv[1]
        q = q_global.reshape(B, self.num_heads, N, C // self.num_heads)
        attn = ((q * self.scale) @ k.transpose(-2, -1)).softmax(dim=-1)
        return (attn @ v).transpose(1, 2).reshape(B, N, C)
