# case: axis_query_axis_module expect: softmax-axis line: 17 alt: 11
import torch
from torch import nn


class Sideways(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
        self.softmax = nn.Softmax(dim=-2)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (f(x).view(b, n, self.heads, self.d).transpose(1, 2) for f in (self.q, self.k, self.v))
        scores = torch.matmul(q, k.transpose(-1, -2)) / self.d**0.5
        probs = self.softmax(scores)
        return torch.matmul(probs, v).transpose(1, 2).reshape(b, n, c)
