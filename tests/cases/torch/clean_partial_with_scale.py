# case: clean_partial_with_scale expect: clean
# proved: yes
from functools import partial

import torch
from torch import nn


def lookup(q, k, v, *, scale, mask=None):
    s = torch.einsum("bhqd,bhkd->bhqk", q, k).mul(scale)
    if mask is not None:
        s = s.masked_fill(~mask, float("-inf"))
    return torch.einsum("bhqk,bhkd->bhqd", s.softmax(dim=-1), v)


class Archive(nn.Module):
    def __init__(self, dim, heads, head_dim):
        super().__init__()
        self.heads, self.head_dim = heads, head_dim
        self.lookup = partial(lookup, scale=head_dim**-0.5)
        self.query = nn.Linear(dim, heads * head_dim)
        self.entry = nn.Linear(dim, 2 * heads * head_dim)

    def forward(self, question, documents):
        b = question.size(0)
        q = self.query(question).view(b, -1, self.heads, self.head_dim).transpose(1, 2)
        k, v = self.entry(documents).view(b, -1, 2, self.heads, self.head_dim).permute(2, 0, 3, 1, 4)
        return self.lookup(q, k, v).transpose(1, 2).flatten(2)
