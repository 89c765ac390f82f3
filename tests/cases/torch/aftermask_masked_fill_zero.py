# case: aftermask_masked_fill_zero expect: mask-after-softmax line: 15
import torch
import torch.nn.functional as F
from torch import nn


class FilledLate(nn.Module):
    def __init__(self, width, d):
        super().__init__()
        self.scale = d**-0.5
        self.q, self.k, self.v = nn.Linear(width, d), nn.Linear(width, d), nn.Linear(width, width)

    def forward(self, x, pad):
        w = F.softmax(self.q(x) @ self.k(x).transpose(1, 2) * self.scale, dim=-1)
        w = w.masked_fill(pad[:, None, :], 0.0)
        return w @ self.v(x)
