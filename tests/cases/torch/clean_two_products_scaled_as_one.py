# case: clean_two_products_scaled_as_one expect: clean
# proved: yes
import math

import torch
from torch import nn


class LatentAttention(nn.Module):
    """The logits are the sum of a product over `rotated` and one over `latent` features."""

    def __init__(self, width, heads, rotated, latent):
        super().__init__()
        self.heads, self.rotated, self.latent = heads, rotated, latent
        self.q, self.q_latent = nn.Linear(width, heads * rotated), nn.Linear(width, heads * latent)
        self.k, self.v = nn.Linear(width, heads * rotated), nn.Linear(width, heads * latent)

    def split(self, x, size):
        return x.view(*x.shape[:2], self.heads, size)

    def forward(self, x):
        q, k = self.split(self.q(x), self.rotated), self.split(self.k(x), self.rotated)
        q_latent, v = self.split(self.q_latent(x), self.latent), self.split(self.v(x), self.latent)
        scale = 1 / math.sqrt(self.rotated + self.latent)
        scores = torch.einsum("bthd,bshd->bhts", q * scale, k)
        scores = scores + torch.einsum("bthd,bshd->bhts", q_latent * scale, v)
        return torch.einsum("bhts,bshd->bthd", scores.softmax(-1), v)


q, k, v = torch.randn(2, 5, 4, 64), torch.randn(2, 7, 4, 64), torch.randn(2, 7, 4, 512)
wide = torch.randn(2, 5, 4, 512)
scores = (torch.einsum("bthd,bshd->bhts", q, k) + torch.einsum("bthd,bshd->bhts", wide, v)) / 24
out = torch.einsum("bhts,bshd->bthd", scores.softmax(-1), v)
