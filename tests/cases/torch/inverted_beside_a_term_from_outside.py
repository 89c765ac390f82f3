# case: inverted_beside_a_term_from_outside expect: inverted-scale line: 19
import torch
from elsewhere import distances
from torch import nn


class WithTerm(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
        self.table = nn.Embedding(64, self.d)

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = (f(x).view(b, n, self.heads, self.d).transpose(1, 2) for f in (self.q, self.k, self.v))
        far = distances(self, q, n)
        scores = q @ k.transpose(-2, -1) + torch.matmul(q, far.transpose(-2, -1))
        weights = (scores * self.d**0.5).softmax(dim=-1)
        return weights @ v
