# case: transpose_wrong_pair expect: wrong-transpose line: 17
import torch
from torch import nn


class WrongPair(nn.Module):
    """Heads and positions of the key change places instead of positions and features."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (f(x).view(b, n, self.heads, self.d).permute(0, 2, 1, 3) for f in (self.q, self.k, self.v))
        s = torch.matmul(q, k.transpose(1, 2)) / self.d**0.5
        return torch.matmul(s.softmax(-1), v).permute(0, 2, 1, 3).reshape(b, n, c)
