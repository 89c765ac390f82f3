# case: clean_yarn_mscale expect: clean
import math

import torch
from torch import nn


def yarn_gain(factor, mscale):
    return 1.0 if factor <= 1 else 0.1 * mscale * math.log(factor) + 1.0


class Stretched(nn.Module):
    def __init__(self, width, heads, qk_dim, factor=8.0, mscale=1.0):
        super().__init__()
        self.heads, self.qk_dim = heads, qk_dim
        gain = yarn_gain(factor, mscale)
        self.softmax_scale = qk_dim**-0.5 * gain * gain
        self.wq, self.wk = nn.Linear(width, heads * qk_dim), nn.Linear(width, heads * qk_dim)
        self.wv = nn.Linear(width, width)

    def forward(self, x):
        b, n, c = x.shape
        q = self.wq(x).view(b, n, self.heads, self.qk_dim).transpose(1, 2)
        k = self.wk(x).view(b, n, self.heads, self.qk_dim).transpose(1, 2)
        v = self.wv(x).view(b, n, self.heads, -1).transpose(1, 2)
        p = torch.softmax(q @ k.transpose(-2, -1) * self.softmax_scale, dim=-1)
        return (p @ v).transpose(1, 2).reshape(b, n, c)
