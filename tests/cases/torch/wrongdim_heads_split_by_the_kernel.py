# case: wrongdim_heads_split_by_the_kernel expect: wrong-dim-scale line: 12
import math

from torch import nn


class Attention(nn.Module):
    """As its clean neighbour, with the root of the width."""

    def __init__(self, width, heads, attend):
        super().__init__()
        self.heads, self.attend, self.softmax_scale = heads, attend, 1 / math.sqrt(width)
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.q(x), self.k(x), self.v(x)
        return self.attend(q, k, v, n_heads=self.heads, softmax_scale=self.softmax_scale)
