# case: scrambled_merge_with_and_without_a_cache expect: scrambled-heads line: 22
import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    """One merge for both: without a cache there are many positions."""

    def __init__(self, width, heads):
        super().__init__()
        self.width, self.heads, self.d = width, heads, width // heads
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x, past=None):
        b, t, _ = x.size()
        q = self.q(x).view(b, t, self.heads, self.d).transpose(1, 2)
        k = self.k(x).view(b, t, self.heads, self.d).transpose(1, 2)
        v = self.v(x).view(b, t, self.heads, self.d).transpose(1, 2)
        if past is not None:
            k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
        return F.scaled_dot_product_attention(q, k, v).contiguous().view(b, t, self.width)
