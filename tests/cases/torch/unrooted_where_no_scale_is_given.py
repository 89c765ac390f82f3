# case: unrooted_where_no_scale_is_given expect: unrooted-scale line: 8 alt: 8,9
import torch
from torch import nn


def attend(query, key, value, scaling=None):
    if scaling is None:
        scaling = query.size(-1) ** -1.0
    scores = torch.matmul(query, key.transpose(2, 3)) * scaling
    return torch.softmax(scores, dim=-1) @ value


class Caller(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = (f(x).view(b, n, self.heads, self.d).transpose(1, 2) for f in (self.q, self.k, self.v))
        return attend(q, k, v, scaling=self.d**-0.5)
