# case: other_conv_heads_view_is_right expect: clean
# proved: yes
import torch
from torch import nn


class ConvHeads(nn.Module):
    """Channels stand before the pixels, so a plain view separates the heads."""

    def __init__(self, channels, heads):
        super().__init__()
        self.heads, self.d = heads, channels // heads
        self.q, self.k, self.v = (nn.Conv2d(channels, channels, 1) for _ in range(3))

    def forward(self, x):
        b, c, h, w = x.shape
        q = self.q(x).view(b, self.heads, self.d, h * w)
        k = self.k(x).view(b, self.heads, self.d, h * w)
        v = self.v(x).view(b, self.heads, self.d, h * w)
        s = torch.einsum("bhdi,bhdj->bhij", q, k) * self.d**-0.5
        return torch.einsum("bhij,bhdj->bhdi", s.softmax(dim=-1), v).reshape(b, c, h, w)
