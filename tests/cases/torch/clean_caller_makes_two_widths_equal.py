# case: clean_caller_makes_two_widths_equal expect: clean
"""The width of the keys' input is, at the only caller, the size of a head: √key_dim is the right root."""

import torch
from torch import nn


class HeadAttention(nn.Module):
    def __init__(self, query_dim, key_dim, units, heads):
        super().__init__()
        self.units, self.heads, self.key_dim = units, heads, key_dim
        self.to_q = nn.Linear(query_dim, units, bias=False)
        self.to_k = nn.Linear(key_dim, units, bias=False)
        self.to_v = nn.Linear(key_dim, units, bias=False)

    def forward(self, query, key):
        size = self.units // self.heads
        q = torch.stack(torch.split(self.to_q(query), size, dim=2), dim=0)
        k = torch.stack(torch.split(self.to_k(key), size, dim=2), dim=0)
        v = torch.stack(torch.split(self.to_v(key), size, dim=2), dim=0)
        weights = torch.softmax(torch.matmul(q, k.transpose(2, 3)) / self.key_dim**0.5, dim=3)
        return torch.cat(torch.split(weights @ v, 1, dim=0), dim=3).squeeze(0)


class Tokens(nn.Module):
    def __init__(self, heads, count, width):
        super().__init__()
        self.key_dim = width // heads
        self.tokens = nn.Parameter(torch.randn(count, self.key_dim))
        self.attention = HeadAttention(query_dim=width // 2, key_dim=self.key_dim, units=width, heads=heads)

    def forward(self, x):
        keys = torch.tanh(self.tokens).unsqueeze(0).expand(x.size(0), -1, -1)
        return self.attention(x.unsqueeze(1), keys)
