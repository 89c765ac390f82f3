# case: wrongdim_factor_of_annotated_settings expect: wrong-dim-scale line: 19 alt: 33
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Sizes:
    model: int = 96
    heads: int = 6

    @property
    def per_head(self):
        return self.model // self.heads

    @property
    def softening(self):
        return 1 / self.model**0.5


class Layer(nn.Module):
    def __init__(self, sizes: Sizes):
        super().__init__()
        self.sizes = sizes
        self.q, self.k, self.v = (nn.Linear(sizes.model, sizes.model) for _ in range(3))

    def apart(self, x):
        return x.unflatten(-1, (self.sizes.heads, self.sizes.per_head)).transpose(1, 2)

    def forward(self, x):
        q, k, v = self.apart(self.q(x)), self.apart(self.k(x)), self.apart(self.v(x))
        weights = (q @ k.mT * self.sizes.softening).softmax(-1)
        return (weights @ v).transpose(1, 2).flatten(2)
