# case: missing_factor_where_given expect: missing-scale line: 7 alt: 10,20
import torch
from torch import nn


def weigh(query, key, factor=None):
    scores = query @ key.mT
    if factor:
        scores = scores * factor
    return scores.softmax(-1)


class Reader(nn.Module):
    def __init__(self, inputs, size):
        super().__init__()
        self.size = size
        self.ask, self.tell, self.give = nn.Linear(inputs, size), nn.Linear(inputs, size), nn.Linear(inputs, size)

    def forward(self, x):
        return weigh(self.ask(x), self.tell(x)) @ self.give(x)
