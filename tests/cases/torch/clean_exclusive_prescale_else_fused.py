# case: clean_exclusive_prescale_else_fused expect: clean
# proved: yes
import torch
import torch.nn.functional as F
from torch import nn


class Gallery(nn.Module):
    fused_attn: bool

    def __init__(self, dim, num_heads=8, fused=True):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = dim // num_heads
        self.scale = self.head_dim**-0.5
        self.fused_attn = fused
        self.hang = nn.Linear(dim, dim * 3)
        self.frame = nn.Linear(dim, dim)

    def forward(self, x, attn_mask=None):
        batch, n, wide = x.shape
        qkv = self.hang(x).reshape(batch, n, 3, self.num_heads, self.head_dim).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        if self.fused_attn:
            x = F.scaled_dot_product_attention(q, k, v, attn_mask=attn_mask)
        else:
            q = q * self.scale
            attn = q @ k.transpose(-2, -1)
            if attn_mask is not None:
                attn = attn + attn_mask
            x = attn.softmax(dim=-1) @ v
        return self.frame(x.transpose(1, 2).reshape(batch, n, wide))
