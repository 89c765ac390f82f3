# case: transpose_t_of_batched expect: wrong-transpose line: 17
import torch
from torch import nn


class BatchT(nn.Module):
    """`.T` turns all axes of a batched key around."""

    def __init__(self, width, d):
        super().__init__()
        self.d = d
        self.q, self.k, self.v = nn.Linear(width, d), nn.Linear(width, d), nn.Linear(width, width)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = self.q(x), self.k(x), self.v(x)
        s = q @ k.T / self.d**0.5
        return torch.softmax(s, dim=-1) @ v
