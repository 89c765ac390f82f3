# case: wrongdim_read_before_transpose expect: wrong-dim-scale line: 18
import torch
from torch import nn


class Reordered(nn.Module):
    """The size is read off the axis of the positions."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.to_qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (t.view(b, n, self.heads, c // self.heads).transpose(1, 2) for t in self.to_qkv(x).chunk(3, dim=-1))
        kt = k.transpose(-2, -1)
        s = q @ kt / kt.shape[-1] ** 0.5
        return (s.softmax(-1) @ v).transpose(1, 2).reshape(b, n, c)
