# case: other_key_axis_first_two_dimensions expect: clean
# proved: yes
import torch
from torch import nn


class KeyRows(nn.Module):
    """Scores are (key, query): the first axis is normalised and summed over."""

    def __init__(self, width, d):
        super().__init__()
        self.d = d
        self.q, self.k, self.v = nn.Linear(width, d), nn.Linear(width, d), nn.Linear(width, width)

    def forward(self, rows):
        q, k, v = self.q(rows), self.k(rows), self.v(rows)
        s = k @ q.T / self.d**0.5
        p = torch.softmax(s, dim=0)
        return p.T @ v
