# case: clean_score_method_in_sibling expect: clean
# proved: yes
import math

import torch
from torch import nn


class Prepare(nn.Module):
    def __init__(self, d_model, heads, d_k):
        super().__init__()
        self.linear = nn.Linear(d_model, heads * d_k)
        self.heads, self.d_k = heads, d_k

    def forward(self, x):
        lead = x.shape[:-1]
        return self.linear(x).view(*lead, self.heads, self.d_k)


class Rehearsal(nn.Module):
    def __init__(self, heads, d_model):
        super().__init__()
        self.d_k = d_model // heads
        self.query, self.key, self.value = (Prepare(d_model, heads, self.d_k) for _ in range(3))
        self.softmax = nn.Softmax(dim=1)
        self.scale = 1 / math.sqrt(self.d_k)

    def scores(self, query, key):
        return torch.einsum("ibhd,jbhd->ijbh", query, key)

    def forward(self, query, key, value, mask=None):
        query, key, value = self.query(query), self.key(key), self.value(value)
        scores = self.scores(query, key)
        scores *= self.scale
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        attn = self.softmax(scores)
        return torch.einsum("ijbh,jbhd->ibhd", attn, value).flatten(2)
