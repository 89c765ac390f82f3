# case: clean_one_position_while_decoding expect: clean
import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    """With a cache one token is decoded at a time: `(b, heads, 1, d)` lies as `(b, 1, heads * d)` does."""

    def __init__(self, width, heads):
        super().__init__()
        self.width, self.heads, self.d = width, heads, width // heads
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x, past=None):
        b, t, _ = x.size()
        is_decode = past is not None
        q = self.q(x).view(b, t, self.heads, self.d).transpose(1, 2)
        k = self.k(x).view(b, t, self.heads, self.d).transpose(1, 2)
        v = self.v(x).view(b, t, self.heads, self.d).transpose(1, 2)
        if is_decode:
            k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
            return F.scaled_dot_product_attention(q, k, v).contiguous().view(b, t, self.width)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, self.width)
