# case: wrongdim_partial_binding expect: wrong-dim-scale line: 16 alt: 9,22
from functools import partial

import torch
from torch import nn


def weigh(q, k, v, scale):
    return torch.softmax(torch.einsum("bhid,bhjd->bhij", q, k) * scale, dim=-1) @ v


class PartialWrong(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.weigh = partial(weigh, scale=dim**-0.5)
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        return self.weigh(q, k, v).transpose(1, 2).reshape(b, n, c)
