# case: unrooted_interface_scaling expect: unrooted-scale line: 15 alt: 7,21
import torch
from torch import nn


def eager(query, key, value, scaling):
    w = torch.matmul(query, key.transpose(2, 3)) * scaling
    return torch.matmul(nn.functional.softmax(w, dim=-1), value)


class Reciprocal(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.d = heads, dim // heads
        self.scaling = 1 / self.d
        self.q, self.k, self.v = (nn.Linear(dim, dim) for _ in range(3))

    def forward(self, x):
        shape = (*x.shape[:-1], self.heads, self.d)
        q, k, v = (f(x).view(shape).transpose(1, 2) for f in (self.q, self.k, self.v))
        return eager(q, k, v, scaling=self.scaling).transpose(1, 2).flatten(2)
