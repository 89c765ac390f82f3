# case: wrongdim_subclass_overrides_attribute expect: wrong-dim-scale line: 22 alt: 16
import torch
from torch import nn


class Base(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.dim, self.heads, self.d = dim, heads, dim // heads
        self.scale = self.d**-0.5
        self.q, self.k, self.v = (nn.Linear(dim, dim) for _ in range(3))

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (f(x).view(b, n, self.heads, self.d).transpose(1, 2) for f in (self.q, self.k, self.v))
        return (torch.softmax(q @ k.transpose(-1, -2) * self.scale, -1) @ v).transpose(1, 2).reshape(b, n, c)


class Override(Base):
    def __init__(self, dim, heads):
        super().__init__(dim, heads)
        self.scale = dim**-0.5
