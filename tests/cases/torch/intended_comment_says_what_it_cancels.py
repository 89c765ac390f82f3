# case: intended_comment_says_what_it_cancels expect: clean
"""The kernel's factor is written out with a comment that says which net scale is meant and why (as TimesFM ports do)."""

import math

import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads, rescale):
        super().__init__()
        self.heads, self.head_dim, self.rescale = heads, width // heads, rescale
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = [p(x).view(b, t, self.heads, self.head_dim).transpose(1, 2) for p in (self.q, self.k, self.v)]
        if self.rescale:
            # the released model multiplies q by √d and its kernel divides by √d: the net scale is 1
            factor = 1.0
        else:
            # the released model multiplies q by √d and its kernel does not divide: the net scale is √d
            factor = math.sqrt(self.head_dim)
        return F.scaled_dot_product_attention(q, k, v, scale=factor)
