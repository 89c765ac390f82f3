# case: other_group_queries_by_view expect: clean
# proved: yes
import torch
from torch import nn


class GroupView(nn.Module):
    """(b, n, heads, d) viewed as (b, n, groups, heads per group, d): no axis is mixed."""

    def __init__(self, dim, heads, groups):
        super().__init__()
        self.heads, self.groups, self.d = heads, groups, dim // heads
        self.wq, self.wk, self.wv = nn.Linear(dim, dim), nn.Linear(dim, groups * self.d), nn.Linear(dim, groups * self.d)

    def forward(self, x):
        b, n, c = x.shape
        q = self.wq(x).view(b, n, self.heads, self.d)
        k = self.wk(x).view(b, n, self.groups, self.d)
        v = self.wv(x).view(b, n, self.groups, self.d)
        q = q.view(b, n, self.groups, self.heads // self.groups, self.d)
        s = torch.einsum("bikgd,bjkd->bkgij", q, k) / self.d**0.5
        y = torch.einsum("bkgij,bjkd->bikgd", s.softmax(dim=-1), v)
        return y.reshape(b, n, c)
