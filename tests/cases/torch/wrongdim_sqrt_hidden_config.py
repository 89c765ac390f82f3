# case: wrongdim_sqrt_hidden_config expect: wrong-dim-scale line: 24
import math

import torch
from torch import nn


class Ledger(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.num_heads = config.num_attention_heads
        self.head_size = int(config.hidden_size / config.num_attention_heads)
        self.hidden_size = config.hidden_size
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.key = nn.Linear(config.hidden_size, config.hidden_size)
        self.value = nn.Linear(config.hidden_size, config.hidden_size)

    def heads_of(self, x):
        return x.view(*x.size()[:-1], self.num_heads, self.head_size).permute(0, 2, 1, 3)

    def forward(self, rows):
        q, k, v = self.heads_of(self.query(rows)), self.heads_of(self.key(rows)), self.heads_of(self.value(rows))
        scores = torch.matmul(q, k.transpose(-1, -2))
        scores = scores / math.sqrt(self.hidden_size)
        return torch.matmul(nn.functional.softmax(scores, dim=-1), v).permute(0, 2, 1, 3).flatten(-2)
