# case: inverted_neighbourhood expect: inverted-scale line: 31
import math

import torch
from torch import nn

from .availability import has_natten

if has_natten():
    from natten.functional import natten2dav, natten2dqkrpb
else:

    def natten2dqkrpb(*args, **kwargs):
        raise ImportError("natten")

    def natten2dav(*args, **kwargs):
        raise ImportError("natten")


class Neighbours(nn.Module):
    def __init__(self, dim, num_heads, kernel_size, dilation):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, dim // num_heads
        self.kernel_size, self.dilation = kernel_size, dilation
        self.rpb = nn.Parameter(torch.zeros(num_heads, 2 * kernel_size - 1, 2 * kernel_size - 1))
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x):
        b, h, w, c = x.shape
        q, k, v = self.qkv(x).reshape(b, h, w, 3, self.num_heads, self.head_dim).permute(3, 0, 4, 1, 2, 5)
        scores = natten2dqkrpb(q * math.sqrt(self.head_dim), k, self.rpb, self.kernel_size, self.dilation)
        out = natten2dav(scores.softmax(dim=-1), v, self.kernel_size, self.dilation)
        return out.permute(0, 2, 3, 1, 4).reshape(b, h, w, c)
