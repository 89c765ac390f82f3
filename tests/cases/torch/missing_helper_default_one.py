# case: missing_helper_default_one expect: missing-scale line: 28 alt: 8,11
import torch
from einops import rearrange
from torch import nn


def look(q, k, v, scale_factor=1, mask=None):
    dots = torch.einsum("... i d, ... j d -> ... i j", q, k) * scale_factor
    if mask is not None:
        dots = dots.masked_fill(mask, float("-inf"))
    return torch.einsum("... i j, ... j d -> ... i d", torch.softmax(dots, dim=-1), v)


class TimeThenSpace(nn.Module):
    def __init__(self, dim, heads, classify):
        super().__init__()
        self.heads, self.classify = heads, classify
        self.scale_factor = (dim // heads) ** -0.5
        self.to_qkv = nn.Linear(dim, dim * 3, bias=False)

    def forward(self, x):
        q, k, v = (rearrange(t, "b n (h d) -> b h n d", h=self.heads) for t in self.to_qkv(x).chunk(3, dim=-1))
        if self.classify:
            first = look(q[:, :, :1], k, v, scale_factor=self.scale_factor)
            rest = look(q[:, :, 1:], k[:, :, 1:], v[:, :, 1:], scale_factor=self.scale_factor)
            out = torch.cat((first, rest), dim=2)
        else:
            out = look(q, k, v)
        return rearrange(out, "b h n d -> b n (h d)")
