# case: clean_explicit_unit_scale_argument_kwargs expect: clean
# proved: yes
import torch
from torch import nn


class Kwargs(nn.Module):
    def __init__(self, width, heads, **kwargs):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.scale = kwargs.get("scale", self.d**-0.5)
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, self.d).permute(2, 0, 3, 1, 4)
        return (torch.softmax(q @ k.transpose(-1, -2) * self.scale, -1) @ v).transpose(1, 2).reshape(b, n, c)
