# case: after_softmax_inside_one_line expect: scale-after-softmax line: 16
import torch
from einops import rearrange
from torch import nn


class OneLine(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.scale = (dim // heads) ** -0.5
        self.to_qkv = nn.Linear(dim, dim * 3)

    def forward(self, x):
        q, k, v = map(lambda t: rearrange(t, "b n (h d) -> b h n d", h=self.heads), self.to_qkv(x).chunk(3, dim=-1))
        attn = torch.softmax(torch.einsum("bhid,bhjd->bhij", q, k), dim=-1) * self.scale
        return rearrange(attn @ v, "b h n d -> b n (h d)")
