# case: aftermask_times_key_mask expect: mask-after-softmax line: 16
import torch
from torch import nn


class TimesAfter(nn.Module):
    def __init__(self, width, d):
        super().__init__()
        self.d = d
        self.q, self.k, self.v = nn.Linear(width, d), nn.Linear(width, d), nn.Linear(width, width)
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, x, lengths):
        mask = torch.arange(x.size(1))[None, :] < lengths[:, None]
        attention = self.softmax(torch.bmm(self.q(x), self.k(x).permute(0, 2, 1)) / self.d**0.5)
        attention = attention * mask.unsqueeze(1).float()
        return torch.bmm(attention, self.v(x))
