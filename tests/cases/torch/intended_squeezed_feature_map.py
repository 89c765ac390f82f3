# case: intended_squeezed_feature_map expect: clean
# verdict: intended
import torch
from torch import nn


class SelfAttention(nn.Module):
    """Pixels attend to pixels, with fewer channels for query and key, behind a gate that starts closed."""

    def __init__(self, channels, squeeze=8):
        super().__init__()
        self.query = nn.Conv2d(channels, channels // squeeze, 1)
        self.key = nn.Conv2d(channels, channels // squeeze, 1)
        self.value = nn.Conv2d(channels, channels, 1)
        self.gate = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        b, c, h, w = x.shape
        q = self.query(x).view(b, -1, h * w).permute(0, 2, 1)
        k = self.key(x).view(b, -1, h * w)
        weights = torch.softmax(torch.bmm(q, k), dim=-1)
        out = torch.bmm(self.value(x).view(b, -1, h * w), weights.permute(0, 2, 1))
        return self.gate * out.view(b, c, h, w) + x
