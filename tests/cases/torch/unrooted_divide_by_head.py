# case: unrooted_divide_by_head expect: unrooted-scale line: 15
import torch
from torch import nn


class Divided(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (f(x).view(b, n, self.heads, self.d).transpose(1, 2) for f in (self.q, self.k, self.v))
        s = torch.matmul(q, k.transpose(-2, -1)) / self.d
        return torch.matmul(s.softmax(-1), v).transpose(1, 2).reshape(b, n, c)
