# case: clean_two_streams_two_roots expect: clean
# proved: yes
import math

import torch
from torch import nn


class TextAndPlace(nn.Module):
    def __init__(self, hidden, heads, shrink):
        super().__init__()
        self.heads, self.size, self.shrink = heads, hidden // heads, shrink
        self.query, self.key, self.value = (nn.Linear(hidden, hidden) for _ in range(3))
        narrow = hidden // shrink
        self.place_query, self.place_key = nn.Linear(narrow, narrow), nn.Linear(narrow, narrow)

    def part(self, x, r=1):
        x = x.view(*x.size()[:-1], self.heads, self.size // r)
        return x.permute(0, 2, 1, 3)

    def forward(self, text, place):
        q, k, v = self.part(self.query(text)), self.part(self.key(text)), self.part(self.value(text))
        pq, pk = self.part(self.place_query(place), self.shrink), self.part(self.place_key(place), self.shrink)
        text_scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.size)
        place_scores = torch.matmul(pq, pk.transpose(-1, -2)) / math.sqrt(self.size // self.shrink)
        probs = nn.Softmax(dim=-1)(text_scores)
        place_probs = nn.Softmax(dim=-1)(place_scores)
        return torch.matmul(probs, v) + torch.matmul(place_probs, v)
