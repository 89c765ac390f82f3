# case: clean_unit_length_times_root expect: clean
import torch
import torch.nn.functional as F
from torch import nn


class UnitLengthAttention(nn.Module):
    """Cosines have variance 1 / d_k: here the root multiplies."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, self.size).permute(2, 0, 3, 1, 4)
        q = q / torch.sqrt((q * q).sum(-1, keepdim=True))
        k = F.normalize(k, dim=-1)
        weights = torch.softmax(q @ k.transpose(-1, -2) * self.size**0.5, dim=-1)
        return (weights @ v).transpose(1, 2).flatten(2)
