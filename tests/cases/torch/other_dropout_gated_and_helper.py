# case: other_dropout_gated_and_helper expect: clean
# proved: yes
import torch
import torch.nn.functional as F
from torch import nn


class Gated(nn.Module):
    def __init__(self, dim, heads, p=0.1):
        super().__init__()
        self.heads, self.p = heads, p
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x, mask=None):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        rate = self.p if self.training else 0.0
        causal = mask is None and n > 1
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=rate, is_causal=causal)
        return y.transpose(1, 2).reshape(b, n, c)
