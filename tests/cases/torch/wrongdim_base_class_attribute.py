# case: wrongdim_base_class_attribute expect: wrong-dim-scale line: 10 alt: 20
import torch
from torch import nn


class Common(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.width, self.heads = width, heads
        self.norm = width**0.5
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def cut(self, t):
        return t.unflatten(-1, (self.heads, self.width // self.heads)).transpose(1, 2)


class Derived(Common):
    def forward(self, x):
        q, k, v = self.cut(self.q(x)), self.cut(self.k(x)), self.cut(self.v(x))
        p = torch.softmax(q @ k.transpose(-2, -1) / self.norm, dim=-1)
        return (p @ v).transpose(1, 2).flatten(2)
