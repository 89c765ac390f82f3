# case: clean_literal_matches_fixed_head expect: clean
# proved: yes
import torch
from torch import nn


class SixtyFour(nn.Module):
    """The head width is fixed at 64, so an eighth is its inverse root."""

    def __init__(self, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q = nn.Linear(n_heads * 64, n_heads * 64)
        self.k = nn.Linear(n_heads * 64, n_heads * 64)
        self.v = nn.Linear(n_heads * 64, n_heads * 64)

    def forward(self, x):
        b, n, _ = x.shape
        q = self.q(x).view(b, n, self.n_heads, 64).transpose(1, 2)
        k = self.k(x).view(b, n, self.n_heads, 64).transpose(1, 2)
        v = self.v(x).view(b, n, self.n_heads, 64).transpose(1, 2)
        w = torch.softmax(torch.matmul(q, k.transpose(-1, -2)) / 8.0, dim=-1)
        return torch.matmul(w, v).transpose(1, 2).reshape(b, n, -1)
