# case: intended_mup_multiplier expect: clean
import torch
from torch import nn


class WidthIndependent(nn.Module):
    """muP: 1/d instead of its root, with a base width that keeps the small model unchanged."""

    def __init__(self, width, heads, base_head_dim=64):
        super().__init__()
        self.heads, self.head_dim = heads, width // heads
        self.mup_scale = base_head_dim**0.5 / self.head_dim
        self.qkv = nn.Linear(width, 3 * width, bias=False)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (t.view(b, n, self.heads, self.head_dim).transpose(1, 2) for t in self.qkv(x).split(c, dim=2))
        return (torch.softmax(q @ k.mT * self.mup_scale, dim=-1) @ v).transpose(1, 2).reshape(b, n, c)
