# case: clean_super_init_passes_scale expect: clean
# proved: yes
import torch
from torch import nn


class Reader(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def read(self, q, k, v):
        return torch.softmax(q @ k.transpose(-2, -1) * self.scale, dim=-1) @ v


class TwinReader(Reader):
    def __init__(self, width, heads):
        head_width = width // heads
        super().__init__(scale=head_width**-0.5)
        self.heads, self.head_width = heads, head_width
        self.left, self.right, self.carry = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def by_head(self, t):
        return t.reshape(t.shape[0], -1, self.heads, self.head_width).transpose(1, 2)

    def forward(self, a, b):
        out = self.read(self.by_head(self.left(a)), self.by_head(self.right(b)), self.by_head(self.carry(b)))
        return out.transpose(1, 2).flatten(2)
