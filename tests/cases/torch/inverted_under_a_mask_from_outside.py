# case: inverted_under_a_mask_from_outside expect: inverted-scale line: 17
import torch
from elsewhere import maybe_add_mask
from torch import nn


class Masked(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.qkv = nn.Linear(width, width * 3)

    def forward(self, x, mask=None):
        b, n, _ = x.shape
        qkv = self.qkv(x).reshape(b, n, 3, self.heads, self.d).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        q = q * self.d**0.5
        scores = maybe_add_mask(q @ k.transpose(-2, -1), mask)
        return scores.softmax(dim=-1) @ v
