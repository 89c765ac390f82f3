# case: clean_norm_then_root expect: clean
import torch
from torch import nn


class Weighed(nn.Module):
    """Normalised per head and still divided by the root: some families do both."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.q_norm, self.k_norm = nn.RMSNorm(self.d), nn.RMSNorm(self.d)
        self.q, self.k, self.v = (nn.Linear(width, width, bias=False) for _ in range(3))

    def forward(self, x):
        shape = (*x.shape[:-1], self.heads, self.d)
        q = self.q_norm(self.q(x).view(shape)).transpose(1, 2)
        k = self.k_norm(self.k(x).view(shape)).transpose(1, 2)
        v = self.v(x).view(shape).transpose(1, 2)
        return (torch.softmax(q @ k.mT * self.d**-0.5, -1) @ v).transpose(1, 2).flatten(2)
