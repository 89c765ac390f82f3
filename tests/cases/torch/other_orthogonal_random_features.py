# case: other_orthogonal_random_features expect: clean
# verdict: none
import math

import torch
from torch import nn


class PositiveFeatures(nn.Module):
    """Random features whose products estimate exp(q·k): the exponential is no softmax."""

    def __init__(self, size, count):
        super().__init__()
        self.size, self.count = size, count
        self.projection = None

    def draw(self, device):
        blocks = [self.orthogonal(device) for _ in range(math.ceil(self.count / self.size))]
        self.projection = torch.cat(blocks, dim=1)[:, : self.count]

    def orthogonal(self, device):
        turned, _ = torch.linalg.qr(torch.randn(self.size, self.size, device=device))
        return turned * self.size**0.5

    def forward(self, x):
        if self.projection is None:
            raise RuntimeError("draw first")
        return torch.exp(x @ self.projection - x.square().sum(-1, keepdim=True) * 0.5) / self.count**0.5


class LinearAttention(nn.Module):
    def __init__(self, dim, heads, count):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.features = PositiveFeatures(dim // heads, count)

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = (layer(x).view(b, n, self.heads, -1) for layer in (self.q, self.k, self.v))
        self.features.draw(x.device)
        q, k = self.features(q), self.features(k)
        kept = torch.einsum("nshd,nshm->nhmd", k, v)
        norm = 1 / torch.einsum("nlhd,nhd->nlh", q, k.sum(dim=1))
        return torch.einsum("nlhd,nhmd,nlh->nlhm", q, kept, norm)


class Classifier(nn.Module):
    def __init__(self, dim, heads, count):
        super().__init__()
        self.attention = LinearAttention(dim, heads, count)

    def forward(self, x):
        return torch.softmax(self.attention(x).mean(1).flatten(1), dim=-1)
