# case: clean_multihead_library_module expect: clean
import torch
from torch import nn


class Library(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x, padding):
        h = self.norm(x)
        y, weights = self.attn(h, h, h, key_padding_mask=padding, need_weights=False)
        return x + y
