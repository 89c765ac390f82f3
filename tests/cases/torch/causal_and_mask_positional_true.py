# case: causal_and_mask_positional_true expect: sdpa-causal-and-mask line: 16
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention


class Positional(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x, bias):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = scaled_dot_product_attention(q, k, v, bias, 0.0, True)
        return y.transpose(1, 2).reshape(b, n, c)
