# case: clean_early_return_two_backends expect: clean
# proved: yes
import torch
from torch import nn


class Backends(nn.Module):
    def __init__(self, dim, num_heads, use_flash):
        super().__init__()
        self.num_heads, self.use_flash = num_heads, use_flash
        head_dim = dim // num_heads
        self.scale = head_dim**-0.5
        self.qkv = nn.Linear(dim, dim * 3)

    def forward(self, x, mask=None):
        b, n, c = x.shape
        qkv = self.qkv(x).reshape(b, n, 3, self.num_heads, c // self.num_heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        if self.use_flash:
            x = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=self.scale)
            return x.transpose(1, 2).reshape(b, n, c)
        q = q * self.scale
        attn = q @ k.transpose(-2, -1)
        if mask is not None:
            attn = attn + mask
        return (torch.softmax(attn, dim=-1) @ v).transpose(1, 2).reshape(b, n, c)
