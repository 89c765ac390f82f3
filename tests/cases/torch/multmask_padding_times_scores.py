# case: multmask_padding_times_scores expect: multiplicative-mask line: 17
import torch
import torch.nn.functional as F
from torch import nn


class TimesMask(nn.Module):
    def __init__(self, width, d):
        super().__init__()
        self.d = d
        self.q, self.k, self.v = nn.Linear(width, d), nn.Linear(width, d), nn.Linear(width, width)

    def forward(self, x, lengths):
        n = x.size(1)
        mask = (torch.arange(n)[None, :] < lengths[:, None]).float()
        scores = torch.bmm(self.q(x), self.k(x).transpose(1, 2)) / self.d**0.5
        scores = scores * mask[:, None, :]
        return torch.bmm(F.softmax(scores, dim=-1), self.v(x))
