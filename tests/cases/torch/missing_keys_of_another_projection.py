# case: missing_keys_of_another_projection expect: missing-scale line: 18
import torch
from torch import nn


class Attention(nn.Module):
    """Query and key are two projections of the input on both paths."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.parts = nn.Linear(width, width * 3, bias=False)

    def forward(self, x):
        b, t, d = x.size()
        q, k, v = torch.chunk(self.parts(x), 3, dim=-1)
        q, k, v = (one.reshape(b, t, self.heads, d // self.heads).transpose(1, 2) for one in (q, k, v))
        return torch.softmax(q @ k.transpose(-1, -2), dim=-1) @ v
