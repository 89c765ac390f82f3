# case: intended_scale_per_feature_under_norm expect: clean
"""A learned scale per feature (`1.4427 / √d * softplus(w)`, which starts at 1/√d), with QK norm: reported with the factor w left out."""

import math

import torch
import torch.nn.functional as F
from torch import nn

AT_ZERO = 1.442695041  # 1 / softplus(0)


class FeatureScale(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size
        self.gain = nn.Parameter(torch.zeros(size))

    def forward(self, x):
        return x * AT_ZERO / math.sqrt(self.size) * F.softplus(self.gain)


class Norm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.head_dim = heads, width // heads
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
        self.q_norm, self.k_norm = Norm(self.head_dim), Norm(self.head_dim)
        self.scale = FeatureScale(self.head_dim)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = [p(x).view(b, t, self.heads, self.head_dim).transpose(1, 2) for p in (self.q, self.k, self.v)]
        q, k = self.scale(self.q_norm(q)), self.k_norm(k)
        return F.scaled_dot_product_attention(q, k, v, scale=1.0)
