# case: unrooted_fourth_root_only_once expect: unrooted-scale line: 21 alt: 20
import math

import torch
from torch import nn


class HalfDone(nn.Module):
    """The fourth root belongs on both operands; the keys went without."""

    def __init__(self, channels, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Conv1d(channels, 3 * channels, 1)

    def forward(self, x):
        b, c, n = x.shape
        ch = c // self.heads
        q, k, v = self.qkv(x).reshape(b * self.heads, 3 * ch, n).split(ch, dim=1)
        scale = 1 / math.sqrt(math.sqrt(ch))
        w = torch.einsum("bct,bcs->bts", q * scale, k)
        return torch.einsum("bts,bcs->bct", w.softmax(dim=-1), v).reshape(b, c, n)
