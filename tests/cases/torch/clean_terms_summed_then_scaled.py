# case: clean_terms_summed_then_scaled expect: clean
# proved: yes
import math

import torch
from torch import nn


class PlaceNames(nn.Module):
    """Key-query terms of relative positions share the factor with the product of the contents."""

    def __init__(self, config):
        super().__init__()
        self.heads = config.num_attention_heads
        self.size = config.hidden_size // config.num_attention_heads
        self.query = nn.Linear(config.hidden_size, self.heads * self.size)
        self.key = nn.Linear(config.hidden_size, self.heads * self.size)
        self.value = nn.Linear(config.hidden_size, self.heads * self.size)
        self.places = nn.Embedding(2 * config.longest - 1, self.size)
        self.longest = config.longest

    def swap(self, x):
        return x.view(x.size(0), x.size(1), self.heads, self.size).permute(0, 2, 1, 3)

    def forward(self, x):
        q, k, v = self.swap(self.query(x)), self.swap(self.key(x)), self.swap(self.value(x))
        scores = torch.matmul(q, k.transpose(-1, -2))
        at = torch.arange(x.shape[1])
        place = self.places(at.view(-1, 1) - at.view(1, -1) + self.longest - 1)
        from_query = torch.einsum("bhld,lrd->bhlr", q, place)
        from_key = torch.einsum("bhrd,lrd->bhlr", k, place)
        scores = scores + from_query + from_key
        scores = scores / math.sqrt(self.size)
        return torch.matmul(nn.functional.softmax(scores, dim=-1), v).permute(0, 2, 1, 3).flatten(-2)
