# case: axis_conv_positions expect: softmax-axis line: 16
import torch
from torch import nn


class ConvSide(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.inner = channels // 4
        self.q, self.k = nn.Conv1d(channels, self.inner, 1), nn.Conv1d(channels, self.inner, 1)
        self.v = nn.Conv1d(channels, channels, 1)

    def forward(self, x):
        q, k, v = self.q(x).transpose(1, 2), self.k(x), self.v(x)
        s = torch.bmm(q, k) * self.inner**-0.5
        p = torch.softmax(s, dim=1)
        return torch.bmm(v, p.transpose(1, 2)) + x
