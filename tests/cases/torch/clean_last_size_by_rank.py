# case: clean_last_size_by_rank expect: clean
# proved: yes
import torch
from torch import nn


class Reader(nn.Module):
    def __init__(self, inputs, size):
        super().__init__()
        self.ask, self.tell, self.give = nn.Linear(inputs, size), nn.Linear(inputs, size), nn.Linear(inputs, size)

    def forward(self, x):
        q, k, v = self.ask(x), self.tell(x), self.give(x)
        width = k.size(k.dim() - 1)
        return torch.softmax(q @ k.transpose(-2, -1) / width**0.5, dim=-1) @ v
