# case: clean_axis_two_of_bijh expect: clean
# proved: yes
import torch
from torch import nn


class NoiseMixer(nn.Module):
    def __init__(self, n_channels, n_heads=1, d_k=None):
        super().__init__()
        d_k = d_k or n_channels
        self.project = nn.Linear(n_channels, n_heads * d_k * 3)
        self.merge = nn.Linear(n_heads * d_k, n_channels)
        self.scale = d_k**-0.5
        self.n_heads, self.d_k = n_heads, d_k

    def forward(self, pixels):
        b, n, c = pixels.shape
        qkv = self.project(pixels).view(b, -1, self.n_heads, 3 * self.d_k)
        q, k, v = torch.chunk(qkv, 3, dim=-1)
        weights = torch.einsum("bthd,bshd->btsh", q, k) * self.scale
        weights = weights.softmax(dim=2)
        out = torch.einsum("btsh,bshd->bthd", weights, v).reshape(b, -1, self.n_heads * self.d_k)
        return pixels + self.merge(out)
