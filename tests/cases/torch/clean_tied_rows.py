# case: clean_tied_rows expect: clean
# proved: yes
import torch
from einops import rearrange
from torch import einsum, nn


class AlignedRows(nn.Module):
    """One attention map for all rows of an alignment: the sum runs over rows and features."""

    def __init__(self, dim, rows, heads=4):
        super().__init__()
        self.rows, self.heads = rows, heads
        self.dim_head = dim // heads
        self.scale = (rows * self.dim_head) ** -0.5
        self.to_qkv = nn.Linear(dim, dim * 3, bias=False)

    def forward(self, x):
        q, k, v = self.to_qkv(x).chunk(3, dim=-1)
        q, k, v = (rearrange(t, "(b r) n (h d) -> b r h n d", r=self.rows, h=self.heads) for t in (q, k, v))
        dots = einsum("b r h i d, b r h j d -> b h i j", q, k) * self.scale
        out = einsum("b h i j, b r h j d -> b r h i d", dots.softmax(dim=-1), v)
        return rearrange(out, "b r h n d -> (b r) n (h d)")
