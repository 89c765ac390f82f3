# case: intended_output_times_root_of_length expect: clean
# verdict: intended
import math

import torch
from torch import nn


class Attention(nn.Module):
    """ConvS2S: the logits are not scaled, and the average of n values gets the variance of one back."""

    def __init__(self, channels, width):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(channels, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, query, memory):
        q, k, v = self.q(query), self.k(memory), self.v(memory)
        x = torch.bmm(torch.softmax(torch.bmm(q, k.transpose(1, 2)), dim=-1), v)
        s = v.size(1)
        return x * (s * math.sqrt(1.0 / s))
