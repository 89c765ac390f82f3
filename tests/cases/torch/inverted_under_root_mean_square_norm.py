# case: inverted_under_root_mean_square_norm expect: inverted-scale line: 25
import torch
from torch import nn


class RootMeanSquare(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(size))

    def forward(self, x):
        return self.gain * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


class NormedAttention(nn.Module):
    """The norms leave features of variance 1, so that q·k has variance d_k as ever: the root divides."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.to_q = nn.Linear(width, width)
        self.to_k = nn.Linear(width, width)
        self.to_v = nn.Linear(width, width)
        self.q_norm, self.k_norm = RootMeanSquare(self.size), RootMeanSquare(self.size)
        self.scaling = self.size**0.5

    def split(self, x):
        b, n, _ = x.shape
        return x.view(b, n, self.heads, self.size).transpose(1, 2)

    def forward(self, x):
        q = self.q_norm(self.split(self.to_q(x)))
        k = self.k_norm(self.split(self.to_k(x)))
        v = self.split(self.to_v(x))
        scores = q @ k.transpose(-1, -2) * self.scaling
        out = scores.softmax(dim=-1) @ v
        return out.transpose(1, 2).flatten(2)
