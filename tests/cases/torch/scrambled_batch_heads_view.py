# case: scrambled_batch_heads_view expect: scrambled-heads line: 16 alt: 17,18,20
import torch
from torch import nn


class BatchHeads(nn.Module):
    """(b, n, heads * d) viewed as (b * heads, n, d): the rows of one head come from several positions."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x):
        b, n, c = x.shape
        q = self.q(x).view(b * self.heads, n, self.d)
        k = self.k(x).view(b * self.heads, n, self.d)
        v = self.v(x).view(b * self.heads, n, self.d)
        p = torch.softmax(torch.bmm(q, k.transpose(1, 2)) / self.d**0.5, dim=-1)
        return torch.bmm(p, v).view(b, n, c)
