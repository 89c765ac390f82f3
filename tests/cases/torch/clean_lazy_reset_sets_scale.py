# case: clean_lazy_reset_sets_scale expect: clean
# proved: yes
import torch
from torch import nn


class Resets(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.dim, self.heads = dim, heads
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self._prepare()

    def _prepare(self):
        self.head_dim = self.dim // self.heads
        self.scale = self.head_dim**-0.5

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (f(x).view(b, n, self.heads, self.head_dim).transpose(1, 2) for f in (self.q, self.k, self.v))
        return (torch.softmax(q @ k.transpose(-1, -2) * self.scale, -1) @ v).transpose(1, 2).reshape(b, n, c)
