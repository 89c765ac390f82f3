# case: after_softmax_root_of_head expect: scale-after-softmax line: 19 alt: 18
import math

import torch
from torch import nn


class Attention(nn.Module):
    """The output, not the logits, is divided by the root of the head size."""

    def __init__(self, channels, width):
        super().__init__()
        self.width = width
        self.q, self.k, self.v = nn.Linear(channels, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, query, memory):
        q, k, v = self.q(query), self.k(memory), self.v(memory)
        x = torch.bmm(torch.softmax(torch.bmm(q, k.transpose(1, 2)), dim=-1), v)
        return x / math.sqrt(self.width)
