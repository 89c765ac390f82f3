# case: unstable_helper_method_exp expect: unstable-softmax line: 7 alt: 8,18
import torch
from torch import nn


def shares(logits, axis=-1):
    raised = logits.exp()
    return raised / raised.sum(axis, keepdim=True)


class Recipe(nn.Module):
    def __init__(self, width, d):
        super().__init__()
        self.d = d
        self.q, self.k, self.v = nn.Linear(width, d), nn.Linear(width, d), nn.Linear(width, width)

    def forward(self, x):
        return shares(self.q(x) @ self.k(x).transpose(1, 2) / self.d**0.5) @ self.v(x)
