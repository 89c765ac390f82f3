# case: clean_rows_picked expect: clean
# proved: yes
import torch
from torch import nn


class Picked(nn.Module):
    def __init__(self, width, size):
        super().__init__()
        self.width, self.size = width, size
        self.to_q, self.to_k, self.to_v = (nn.Linear(width, size) for _ in range(3))

    def forward(self, x, rows):
        q = torch.index_select(self.to_q(x), 0, rows)
        k, v = (to(x).index_select(0, rows) for to in (self.to_k, self.to_v))
        weights = (q @ k.transpose(-2, -1) / self.size**0.5).softmax(dim=-1)
        return weights @ v
