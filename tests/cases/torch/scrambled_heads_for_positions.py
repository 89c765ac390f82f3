# case: scrambled_heads_for_positions expect: scrambled-heads line: 16
import torch
from torch import nn


class Grouped(nn.Module):
    """Heads stand where the positions lie."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def split(self, x, layer):
        b, t, _ = x.shape
        return layer(x).view(b, self.heads, t, self.d)

    def forward(self, x):
        q, k, v = (self.split(x, layer) for layer in (self.q, self.k, self.v))
        return torch.softmax(q @ k.transpose(-2, -1) / self.d**0.5, dim=-1) @ v
