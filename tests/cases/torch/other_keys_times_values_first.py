# case: other_keys_times_values_first expect: clean
import torch
from torch import nn


class EfficientAttention(nn.Module):
    """Keys and values are multiplied first, over the positions; the query, a softmax of its own, picks from that."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.to_q, self.to_k, self.to_v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.to_q(x), self.to_k(x), self.to_v(x)
        q, k, v = (one.view(b, n, self.heads, c // self.heads).transpose(1, 2) for one in (q, k, v))
        q = q.softmax(dim=-1)
        context = (k.transpose(-1, -2) @ v).softmax(dim=-2)
        return (q @ context).transpose(1, 2).reshape(b, n, c)
