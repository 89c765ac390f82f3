# case: missing_conv_with_heads expect: missing-scale line: 17 alt: 18
import torch
from torch import nn


class ConvHeadsBare(nn.Module):
    """Several heads over pixels, with no residual gate: a transformer block, not a non-local one."""

    def __init__(self, channels, heads):
        super().__init__()
        self.heads, self.d = heads, channels // heads
        self.qkv = nn.Conv2d(channels, channels * 3, 1, bias=False)

    def forward(self, x):
        b, c, h, w = x.shape
        q, k, v = self.qkv(x).reshape(b, 3, self.heads, self.d, h * w).unbind(1)
        s = torch.einsum("bhdi,bhdj->bhij", q, k)
        return torch.einsum("bhij,bhdj->bhdi", s.softmax(dim=-1), v).reshape(b, c, h, w)
