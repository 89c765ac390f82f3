# case: intended_convolutions_averaged expect: clean
# verdict: intended
import torch
from torch import nn


class AdaptiveGraph(nn.Module):
    """Joints that are alike over all channels and frames: 1×1 convolutions, no heads, and the mean of their product."""

    def __init__(self, channels, inner):
        super().__init__()
        self.inner = inner
        self.a, self.b = nn.Conv2d(channels, inner, 1), nn.Conv2d(channels, inner, 1)
        self.d = nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        n, c, t, v = x.size()
        a = self.a(x).permute(0, 3, 1, 2).contiguous().view(n, v, self.inner * t)
        b = self.b(x).view(n, self.inner * t, v)
        attention = torch.softmax(torch.matmul(a, b) / a.size(-1), dim=-2)
        return self.d(torch.matmul(x.view(n, c * t, v), attention).view(n, c, t, v))
