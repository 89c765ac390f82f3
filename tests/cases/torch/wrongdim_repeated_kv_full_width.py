# case: wrongdim_repeated_kv_full_width expect: wrong-dim-scale line: 18
import torch
from torch import nn


class OneKey(nn.Module):
    """One key head for all queries, divided by the root of the query's full width."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.d, self.dim = heads, dim // heads, dim
        self.wq, self.wk, self.wv = nn.Linear(dim, dim), nn.Linear(dim, dim // heads), nn.Linear(dim, dim // heads)

    def forward(self, x):
        b, n, _ = x.shape
        q = self.wq(x).view(b, n, self.heads, self.d).transpose(1, 2)
        k, v = self.wk(x).unsqueeze(1), self.wv(x).unsqueeze(1)
        logits = q @ k.transpose(-1, -2) / self.dim**0.5
        return (torch.softmax(logits, -1) @ v).transpose(1, 2).flatten(2)
