# case: double_default_scale_over_attr expect: double-scale line: 18 alt: 17,23
import torch
import torch.nn.functional as F
from torch import nn


class Attend(nn.Module):
    """The query gets the usual factor, and the kernel applies it once more."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)

    def fused(self, q, k, v):
        usual = q.shape[-1] ** -0.5
        q = q * usual
        return F.scaled_dot_product_attention(q, k, v)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (t.view(b, n, self.heads, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1))
        return self.fused(q, k, v).transpose(1, 2).reshape(b, n, c)
