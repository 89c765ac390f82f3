# case: clean_alibi_after_scale expect: clean
# proved: yes
import math

import torch
from torch import nn


class Downhill(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.register_buffer("m", torch.tensor([2.0 ** (-8 * (i + 1) / heads) for i in range(heads)]).view(heads, 1, 1))

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, self.d).permute(2, 0, 3, 1, 4).unbind(0)
        at = torch.arange(n)
        slope = -self.m * (at[:, None] - at[None, :]).abs()
        s = q @ k.transpose(-2, -1) / math.sqrt(self.d) + slope
        return (torch.softmax(s, dim=-1) @ v).transpose(1, 2).reshape(b, n, c)
