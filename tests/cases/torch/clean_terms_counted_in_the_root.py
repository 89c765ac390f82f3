# case: clean_terms_counted_in_the_root expect: clean
import math

import torch
from torch import nn


class Disentangled(nn.Module):
    """Three products are added, so the root counts them: sqrt(3 d)."""

    def __init__(self, hidden, heads, reach, kinds=("c2p", "p2c")):
        super().__init__()
        self.heads, self.d, self.reach, self.kinds = heads, hidden // heads, reach, kinds
        self.query, self.key, self.value = (nn.Linear(hidden, hidden) for _ in range(3))
        self.places = nn.Embedding(2 * reach, hidden)

    def cut(self, t):
        return t.view(*t.shape[:-1], self.heads, self.d).transpose(-3, -2)

    def forward(self, x):
        q, k, v = self.cut(self.query(x)), self.cut(self.key(x)), self.cut(self.value(x))
        terms = 1 + len(self.kinds)
        scale = math.sqrt(q.size(-1) * terms)
        scores = torch.matmul(q, k.transpose(-1, -2)) / scale
        at = torch.arange(x.shape[1])
        gap = (at[:, None] - at[None] + self.reach).clamp(0, 2 * self.reach - 1)
        table = self.places.weight
        if "c2p" in self.kinds:
            c2p = torch.matmul(q, self.cut(self.key(table)).transpose(-1, -2))
            scores = scores + torch.gather(c2p, -1, gap.expand(*c2p.shape[:2], -1, -1)) / scale
        if "p2c" in self.kinds:
            p2c = torch.matmul(k, self.cut(self.query(table)).transpose(-1, -2))
            scores = scores + torch.gather(p2c, -1, gap.T.expand(*p2c.shape[:2], -1, -1)).transpose(-1, -2) / scale
        return torch.matmul(scores.softmax(-1), v).transpose(1, 2).flatten(2)
