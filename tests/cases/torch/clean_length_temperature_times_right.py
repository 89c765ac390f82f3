# case: clean_length_temperature_times_right expect: clean
import math

import torch
from torch import nn


class LongRoad(nn.Module):
    def __init__(self, width, heads, trained_length):
        super().__init__()
        self.heads, self.d, self.trained_length = heads, width // heads, trained_length
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (t.view(b, n, self.heads, self.d).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1))
        longer = max(1.0, math.log(n) / math.log(self.trained_length))
        scores = (q * longer) @ k.transpose(-2, -1) / math.sqrt(self.d)
        return (scores.softmax(-1) @ v).transpose(1, 2).reshape(b, n, c)
