# case: after_softmax_division expect: scale-after-softmax line: 17 alt: 16
import torch
import torch.nn.functional as F
from torch import nn


class Late(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (f(x).view(b, n, self.heads, self.d).transpose(1, 2) for f in (self.q, self.k, self.v))
        p = F.softmax(torch.matmul(q, k.transpose(-2, -1)), dim=-1)
        p = p / self.d**0.5
        return torch.matmul(p, v).transpose(1, 2).reshape(b, n, c)
