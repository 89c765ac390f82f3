# case: clean_filled_buffers expect: clean
# proved: yes
import torch
from torch import nn


class Padded(nn.Module):
    """Sequences of many lengths are copied into buffers, on either of two projections."""

    def __init__(self, heads, width, d, halves):
        super().__init__()
        self.heads, self.d, self.halves = heads, d, halves
        self.w = nn.Parameter(torch.FloatTensor(heads, width, d))
        self.w1 = nn.Parameter(torch.FloatTensor(heads, width, d // 2))
        self.w2 = nn.Parameter(torch.FloatTensor(heads, width, d // 2))

    def project(self, x):
        if self.halves:
            return torch.cat([torch.bmm(x, self.w1), torch.bmm(x, self.w2)], -1)
        return torch.bmm(x, self.w)

    def forward(self, x, lengths, batch, longest):
        queries, keys = self.project(x), self.project(x)
        q = queries.new_zeros((self.heads, batch, longest, self.d))
        k = keys.new_zeros((self.heads, batch, longest, self.d))
        for i, (start, end) in enumerate(lengths):
            q[:, i, : end - start, :] = queries[:, start:end, :]
            k[:, i, : end - start, :] = keys[:, start:end, :]
        q, k = q.view(-1, longest, self.d), k.view(-1, longest, self.d)
        return torch.softmax(torch.bmm(q, k.transpose(1, 2)) / self.d**0.5, dim=-1)
