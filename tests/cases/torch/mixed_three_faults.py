# case: mixed_three_faults expect: missing-scale line: 15 alt: 17
# case: mixed_three_faults expect: implicit-softmax-dim line: 17
# case: mixed_three_faults expect: multiplicative-mask line: 16
import torch
import torch.nn.functional as F
from torch import nn


class EarlyWork(nn.Module):
    def __init__(self, width, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(width, d), nn.Linear(width, d), nn.Linear(width, width)

    def forward(self, x, mask):
        e = torch.bmm(self.q(x), self.k(x).transpose(1, 2))
        e = e.masked_fill(mask.unsqueeze(1) == 0, 0)
        a = F.softmax(e)
        return torch.bmm(a, self.v(x))
