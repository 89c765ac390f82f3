# case: aftermask_scattered_padding expect: mask-after-softmax line: 21
import torch
from torch import nn


class Padded(nn.Module):
    """Places that are handed in are left out after softmax."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x, padded):
        b, t, c = x.shape
        q, k, v = (one(x).view(b, t, self.heads, c // self.heads) for one in (self.q, self.k, self.v))
        weights = torch.softmax(torch.einsum("nlhd,nshd->nlsh", q, k) / (c // self.heads) ** 0.5, dim=-2)
        mask = torch.ones_like(weights)
        mask = mask.scatter(dim=-2, index=padded, src=torch.zeros_like(padded).float())

        return torch.einsum("nlsh,nshd->nlhd", weights * mask, v)
