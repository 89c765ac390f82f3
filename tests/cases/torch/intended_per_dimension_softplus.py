# case: intended_per_dimension_softplus expect: clean
import torch
import torch.nn.functional as F
from torch import nn


class PerDim(nn.Module):
    """Every feature has its own trained factor; softplus(0) * 1.4427 / sqrt(d) is the start."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.per_dim_scale = nn.Parameter(torch.zeros(self.d))
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, self.d).permute(2, 0, 3, 1, 4)
        q = q * (1.442695041 / self.d**0.5 * F.softplus(self.per_dim_scale))
        return (torch.softmax(q @ k.transpose(-1, -2), -1) @ v).transpose(1, 2).reshape(b, n, c)
