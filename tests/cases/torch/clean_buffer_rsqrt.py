# case: clean_buffer_rsqrt expect: clean
# proved: yes
import torch
from torch import nn


class Quarry(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.dim_head = heads, dim // heads
        self.register_buffer("inv_root", torch.rsqrt(torch.tensor(float(self.dim_head))))
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    def heads_of(self, t):
        return t.unflatten(-1, (self.heads, self.dim_head)).transpose(1, 2)

    def forward(self, x):
        q, k, v = map(self.heads_of, (self.q(x), self.k(x), self.v(x)))
        stone = torch.matmul(q, k.transpose(2, 3)) * self.inv_root
        return torch.matmul(torch.softmax(stone, -1), v).transpose(1, 2).flatten(2)
