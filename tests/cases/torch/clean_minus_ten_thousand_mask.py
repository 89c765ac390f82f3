# case: clean_minus_ten_thousand_mask expect: clean
# proved: yes
import torch
from torch import nn


class Cloakroom(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads, self.head_size = heads, hidden // heads
        self.scale = self.head_size**-0.5
        self.q, self.k, self.v = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, hidden)

    def split(self, x):
        return x.view(*x.shape[:2], self.heads, self.head_size).transpose(1, 2)

    def forward(self, x, present):
        bias = (1.0 - present[:, None, None, :].to(x.dtype)) * -10000.0
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        scores = torch.matmul(q, k.transpose(-1, -2)) * self.scale + bias
        return torch.matmul(scores.softmax(-1), v).transpose(1, 2).flatten(2)
