# case: causal_and_mask_keywords expect: sdpa-causal-and-mask line: 17
import torch
import torch.nn.functional as F
from torch import nn


class BothMasks(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x, lengths):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        keep = (torch.arange(n)[None, :] < lengths[:, None])[:, None, None, :]
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=keep, is_causal=True)
        return y.transpose(1, 2).reshape(b, n, c)
