# case: wrongdim_convolution_by_hand expect: wrong-dim-scale line: 43
import math

import torch
from torch import nn


class Pointwise(nn.Module):
    """A linear layer that makes one axis of all that come before the features, and takes that back."""

    def __init__(self, width, inputs):
        super().__init__()
        self.width = width
        self.weight = nn.Parameter(torch.empty(inputs, width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        size = x.size()[:-1] + (self.width,)
        x = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
        return x.view(*size)


class ConvolvedAttention(nn.Module):
    """Queries and keys see their surroundings; each head is as wide as the model."""

    def __init__(self, heads, width, reach):
        super().__init__()
        self.heads = heads
        self.whole = width * heads
        self.reach = reach
        self.query_key = nn.Conv1d(width, width * heads * 2, reach)
        self.value = Pointwise(width * heads, width)

    def split(self, x):
        return x.view(*(x.size()[:-1] + (self.heads, x.size(-1) // self.heads)))

    def forward(self, x):
        value = self.value(x)
        padded = nn.functional.pad(x.permute(0, 2, 1), pad=(self.reach - 1, 0))
        query, key = self.query_key(padded).permute(0, 2, 1).split(self.whole, dim=2)
        query, value = self.split(query).permute(0, 2, 1, 3), self.split(value).permute(0, 2, 1, 3)
        key = self.split(key).permute(0, 2, 3, 1)
        scores = torch.matmul(query, key) / math.sqrt(self.whole)
        return torch.matmul(scores.softmax(-1), value)


class Model(nn.Module):
    def __init__(self, series, heads, width, reach):
        super().__init__()
        self.identities = nn.Embedding(9, width)
        self.attention = ConvolvedAttention(heads, width + series, reach)

    def forward(self, identity, x):
        x = torch.cat((self.identities(identity), x), dim=2)
        return x + self.attention(x)
