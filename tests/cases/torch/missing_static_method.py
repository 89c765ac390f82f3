# case: missing_static_method expect: missing-scale line: 14 alt: 15,20
import torch
from torch import nn


class Static(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))

    @staticmethod
    def weigh(q, k, v):
        s = torch.einsum("bhid,bhjd->bhij", q, k)
        return torch.einsum("bhij,bhjd->bhid", torch.softmax(s, dim=-1), v)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (f(x).view(b, n, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        return self.weigh(q, k, v).transpose(1, 2).reshape(b, n, c)
