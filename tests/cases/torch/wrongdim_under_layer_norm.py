# case: wrongdim_under_layer_norm expect: wrong-dim-scale line: 15
from torch import nn


class NormedAttention(nn.Module):
    """The norms leave features of variance 1, so that q·k has variance d_k as ever: the root divides."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.to_q = nn.Linear(width, width)
        self.to_k = nn.Linear(width, width)
        self.to_v = nn.Linear(width, width)
        self.q_norm, self.k_norm = nn.LayerNorm(self.size), nn.LayerNorm(self.size)
        self.scaling = width**-0.5

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
