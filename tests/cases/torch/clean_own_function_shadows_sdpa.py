# case: clean_own_function_shadows_sdpa expect: clean
# proved: yes
import math

import torch
from torch import nn


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, scale=None):
    L, S = query.size(-2), key.size(-2)
    factor = 1 / math.sqrt(query.size(-1)) if scale is None else scale
    bias = torch.zeros(L, S, dtype=query.dtype)
    if attn_mask is not None:
        if attn_mask.dtype == torch.bool:
            bias.masked_fill_(attn_mask.logical_not(), float("-inf"))
        else:
            bias = bias + attn_mask
    weight = query @ key.transpose(-2, -1) * factor
    weight = torch.softmax(weight + bias, dim=-1)
    return torch.dropout(weight, dropout_p, train=True) @ value


class Copyist(nn.Module):
    def __init__(self, steps, hidden):
        super().__init__()
        self.keys = nn.Linear(steps, hidden)
        self.queries = nn.Linear(steps, hidden)
        self.values = nn.Linear(steps, steps)

    def forward(self, x):
        return scaled_dot_product_attention(self.queries(x), self.keys(x), self.values(x))
