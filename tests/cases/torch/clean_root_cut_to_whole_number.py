# case: clean_root_cut_to_whole_number expect: clean
# verdict: unknown
import math

import torch
from torch import nn


class Reader(nn.Module):
    def __init__(self, inputs, size):
        super().__init__()
        self.size = size
        self.ask, self.tell, self.give = nn.Linear(inputs, size), nn.Linear(inputs, size), nn.Linear(inputs, size)

    def forward(self, x):
        q, k, v = self.ask(x), self.tell(x), self.give(x)
        return torch.softmax(q @ k.mT / math.isqrt(self.size), dim=-1) @ v
