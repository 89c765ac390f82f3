# case: clean_fourth_root_divisor_attr expect: clean
# proved: yes
import math

import torch
from torch import nn


class Ballots(nn.Module):
    def __init__(self, hidden_size, num_attention_heads):
        super().__init__()
        self.num_attention_heads = num_attention_heads
        self.head_size = int(hidden_size / num_attention_heads)
        self.root = math.sqrt(math.sqrt(self.head_size))
        self.query_net = nn.Linear(hidden_size, hidden_size)
        self.key_net = nn.Linear(hidden_size, hidden_size)
        self.value_net = nn.Linear(hidden_size, hidden_size)

    def per_head(self, x):
        x = x.view(*x.size()[:-1], self.num_attention_heads, self.head_size)
        return x.permute(0, 2, 1, 3)

    def forward(self, queries, keys, values, blocked):
        q = self.per_head(self.query_net(queries)) / self.root
        k = self.per_head(self.key_net(keys)) / self.root
        v = self.per_head(self.value_net(values))
        scores = torch.matmul(q, k.transpose(-1, -2))
        if blocked is not None:
            scores = scores + blocked.to(scores.dtype)
        context = torch.matmul(torch.softmax(scores, dim=-1), v).permute(0, 2, 1, 3).contiguous()
        return context.flatten(-2)
