# case: axis_wrong_letter_of_einsum expect: softmax-axis line: 18
import torch
from torch import nn


class WrongLetter(nn.Module):
    """Scores are (batch, query, key, head); the query axis is normalised."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (f(x).view(b, n, self.heads, self.d) for f in (self.q, self.k, self.v))
        s = torch.einsum("bqhd,bkhd->bqkh", q, k) / self.d**0.5
        p = torch.softmax(s, dim=1)
        return torch.einsum("bqkh,bkhd->bqhd", p, v).reshape(b, n, c)
