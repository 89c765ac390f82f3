# case: other_viewed_batch_heads_sequence_first expect: clean
# proved: yes
import torch
from torch import nn


class SeqFirst(nn.Module):
    """(length, batch, width) viewed as (length, batch * heads, head) keeps every head whole."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.inp = nn.Linear(width, 3 * width)

    def forward(self, x):
        length, batch, width = x.shape
        q, k, v = self.inp(x).split(width, dim=-1)
        fold = lambda t: t.contiguous().view(length, batch * self.heads, self.d).transpose(0, 1)
        q, k, v = fold(q), fold(k), fold(v)
        w = torch.softmax(torch.bmm(q, k.transpose(1, 2)) / self.d**0.5, dim=-1)
        return torch.bmm(w, v).transpose(0, 1).contiguous().view(length, batch, width)
