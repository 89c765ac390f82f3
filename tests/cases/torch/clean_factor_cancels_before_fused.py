# case: clean_factor_cancels_before_fused expect: clean
# proved: yes
import torch
import torch.nn.functional as F
from torch import nn


class Cancelled(nn.Module):
    """The fused kernel scales by itself; a configured factor is divided by what it will do."""

    def __init__(self, width, heads, scale=None):
        super().__init__()
        self.heads, self.scale = heads, scale
        self.qkv = nn.Linear(width, 3 * width, bias=False)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (t.view(b, n, self.heads, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1))
        if self.scale is not None:
            usual = q.shape[-1] ** -0.5
            q = q * (self.scale / usual)
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, c)
