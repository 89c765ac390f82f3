# case: other_split_attention_radix expect: clean
import torch
import torch.nn.functional as F
from torch import nn


class SplitPaths(nn.Module):
    def __init__(self, channels, radix=2, reduce=4):
        super().__init__()
        self.radix, self.channels = radix, channels
        self.conv = nn.Conv2d(channels, channels * radix, 3, padding=1)
        self.fc1, self.fc2 = nn.Conv2d(channels, channels // reduce, 1), nn.Conv2d(channels // reduce, channels * radix, 1)

    def forward(self, x):
        b = x.shape[0]
        parts = self.conv(x).view(b, self.radix, self.channels, *x.shape[2:])
        gap = parts.sum(dim=1).mean((2, 3), keepdim=True)
        a = self.fc2(F.relu(self.fc1(gap))).view(b, self.radix, self.channels)
        a = F.softmax(a, dim=1)
        return (parts * a[..., None, None]).sum(dim=1)
