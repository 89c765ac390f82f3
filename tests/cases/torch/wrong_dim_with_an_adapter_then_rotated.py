# case: wrong_dim_with_an_adapter_then_rotated expect: wrong-dim-scale line: 32
import torch
from torch import nn


def half_turned(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


class Attention(nn.Module):
    def __init__(self, width, heads, rank):
        super().__init__()
        self.width, self.heads, self.head_dim = width, heads, width // heads
        self.q_proj = nn.Linear(width, width)
        self.k_proj = nn.Linear(width, width)
        self.v_proj = nn.Linear(width, width)
        self.down, self.up = nn.Linear(width, rank), nn.Linear(rank, width)

    def split(self, x):
        b, t, _ = x.shape
        return x.view(b, t, self.heads, self.head_dim).transpose(1, 2)

    def forward(self, x, cos, sin):
        q = self.q_proj(x)
        q = q + self.up(self.down(x))
        q = self.split(q)
        k, v = self.split(self.k_proj(x)), self.split(self.v_proj(x))
        q = q * cos + half_turned(q) * sin
        k = k * cos + half_turned(k) * sin
        scores = q @ k.transpose(-2, -1)
        return torch.softmax(scores * self.width**-0.5, dim=-1) @ v
