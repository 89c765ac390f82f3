# case: transpose_heads_stay_behind expect: wrong-transpose line: 19 alt: 20
import torch
from torch import nn


class HeadsBehind(nn.Module):
    """(b, n, heads, d) times (b, n, d, heads): every position compares its own heads."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x):
        b, n, c = x.shape
        q = self.q(x).view(b, n, self.heads, self.d)
        k = self.k(x).view(b, n, self.heads, self.d)
        v = self.v(x).view(b, n, self.heads, self.d)
        s = torch.matmul(q, k.transpose(-2, -1)) / self.d**0.5
        return torch.matmul(torch.softmax(s, dim=-1), v).reshape(b, n, c)
