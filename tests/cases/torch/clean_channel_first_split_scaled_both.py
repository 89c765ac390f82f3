# case: clean_channel_first_split_scaled_both expect: clean
# proved: yes
import math

import torch
from torch import nn


class SpectrumBlock(nn.Module):
    def __init__(self, channels, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.qkv = nn.Conv1d(channels, 3 * channels, 1)
        self.out = nn.Conv1d(channels, channels, 1)

    def forward(self, x):
        n, c, t = x.shape
        ch = c // self.n_heads
        qkv = self.qkv(x).reshape(n * self.n_heads, 3 * ch, t)
        q, k, v = qkv.split(ch, dim=1)
        scale = 1 / math.sqrt(math.sqrt(ch))
        weight = torch.einsum("nct,ncs->nts", q * scale, k * scale)
        weight = torch.softmax(weight, dim=-1)
        return self.out(torch.einsum("nts,ncs->nct", weight, v).reshape(n, c, t))
