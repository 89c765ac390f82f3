# case: clean_augmented_division_sqrt expect: clean
# proved: yes
from math import sqrt

import torch
from torch import nn


def to_heads(t, dim_per_head):
    return t.view(t.size(0), -1, t.size(-1) // dim_per_head, dim_per_head).transpose(1, 2)


class Translator(nn.Module):
    def __init__(self, heads, model_dim):
        super().__init__()
        self.dim_per_head = model_dim // heads
        self.linear_keys = nn.Linear(model_dim, model_dim)
        self.linear_values = nn.Linear(model_dim, model_dim)
        self.linear_query = nn.Linear(model_dim, model_dim)

    def forward(self, key, value, query):
        key = to_heads(self.linear_keys(key), self.dim_per_head)
        value = to_heads(self.linear_values(value), self.dim_per_head)
        query = to_heads(self.linear_query(query), self.dim_per_head)
        query /= sqrt(self.dim_per_head)
        scores = torch.matmul(query, key.transpose(2, 3)).float()
        attn = torch.softmax(scores, dim=-1).to(query.dtype)
        return torch.matmul(attn, value).transpose(1, 2).flatten(2)
