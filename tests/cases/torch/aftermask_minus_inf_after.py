# case: aftermask_minus_inf_after expect: mask-after-softmax line: 16
import torch
from torch import nn


class InfAfter(nn.Module):
    def __init__(self, width, d):
        super().__init__()
        self.d = d
        self.q, self.k, self.v = nn.Linear(width, d), nn.Linear(width, d), nn.Linear(width, width)

    def forward(self, x, mask=None):
        scores = self.q(x) @ self.k(x).transpose(-2, -1) / self.d**0.5
        weights = torch.softmax(scores, dim=-1)
        if mask is not None:
            weights = weights.masked_fill(mask == 0, -1e9)
        return weights @ self.v(x)
