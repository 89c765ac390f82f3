# case: clean_alpha_by_a_width_that_is_picked expect: clean
import math

import torch
from torch import nn


class PixelAttention(nn.Module):
    """Attention between pixels whose factor is handed to the product."""

    def __init__(self, channels):
        super().__init__()
        self.scale = 1 / math.sqrt(channels)
        self.to_q = nn.Linear(channels, channels)
        self.to_k = nn.Linear(channels, channels)
        self.to_v = nn.Linear(channels, channels)

    def forward(self, x):
        query, key, value = self.to_q(x), self.to_k(x), self.to_v(x)
        empty = torch.empty(query.shape[0], query.shape[1], key.shape[1])
        scores = torch.baddbmm(empty, query, key.transpose(-1, -2), beta=0, alpha=self.scale)
        return torch.bmm(scores.softmax(dim=-1), value)


class Levels(nn.Module):
    """One attention a level, with the level's own width."""

    def __init__(self, widths, chosen):
        super().__init__()
        stacked = torch.as_tensor(widths)
        self.blocks = nn.ModuleList(PixelAttention(stacked[level]) for level in chosen)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
