# case: unknown_width_of_values_beside_a_sum expect: clean
# verdict: unknown
import math

import torch
from library import ValueLayer
from torch import nn


class SeriesAttention(nn.Module):
    """The root is of the values' width, which another package makes: it may be the summed width."""

    def __init__(self, width, series):
        super().__init__()
        self.query = nn.Linear(width + series, width + series)
        self.key = nn.Linear(width + series, width + series)
        self.value = ValueLayer(width + series)

    def forward(self, x):
        query, key, value = self.query(x), self.key(x), self.value(x)
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(value.size(-1))
        return torch.matmul(scores.softmax(-1), value)
