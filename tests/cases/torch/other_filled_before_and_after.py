# case: other_filled_before_and_after expect: clean
# proved: yes
import torch
from torch import nn


class BothTimes(nn.Module):
    """The second fill only repairs rows that were masked completely."""

    def __init__(self, width, d):
        super().__init__()
        self.d = d
        self.q, self.k, self.v = nn.Linear(width, d), nn.Linear(width, d), nn.Linear(width, width)

    def forward(self, x, pad):
        hidden = pad[:, None, :]
        s = self.q(x) @ self.k(x).transpose(1, 2) / self.d**0.5
        s = s.masked_fill(hidden, float("-inf"))
        w = s.softmax(dim=-1)
        w = w.masked_fill(hidden, 0.0)
        return w @ self.v(x)
