# case: clean_query_key_by_value_width expect: clean
# proved: yes
import math

import torch
from torch import nn


class Eager(nn.Module):
    def __init__(self, nx, n_head):
        super().__init__()
        self.n_head, self.split_size = n_head, nx
        self.c_attn = nn.Linear(nx, 3 * nx)

    def _attn(self, q, k, v):
        w = torch.matmul(q, k)
        w = w / math.sqrt(v.size(-1))
        return torch.matmul(nn.Softmax(dim=-1)(w), v)

    def split_heads(self, x, k=False):
        x = x.view(*(x.size()[:-1] + (self.n_head, x.size(-1) // self.n_head)))
        return x.permute(0, 2, 3, 1) if k else x.permute(0, 2, 1, 3)

    def forward(self, x):
        query, key, value = self.c_attn(x).split(self.split_size, dim=2)
        a = self._attn(self.split_heads(query), self.split_heads(key, k=True), self.split_heads(value))
        return a.permute(0, 2, 1, 3).flatten(2)
