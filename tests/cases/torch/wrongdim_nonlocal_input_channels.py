# case: wrongdim_nonlocal_input_channels expect: wrong-dim-scale line: 10 alt: 20
import torch
from torch import nn


class Remote(nn.Module):
    def __init__(self, in_channels, reduction=8, use_scale=True):
        super().__init__()
        inner = in_channels // reduction
        self.scale = in_channels**-0.5 if use_scale else 1.0
        self.t, self.p, self.g = (nn.Conv2d(in_channels, inner, 1) for _ in range(3))
        self.z = nn.Conv2d(inner, in_channels, 1)

    def forward(self, x):
        t, p, g = self.t(x), self.p(x), self.g(x)
        B, C, H, W = t.size()
        t = t.view(B, C, -1).permute(0, 2, 1)
        p = p.view(B, C, -1)
        g = g.view(B, C, -1).permute(0, 2, 1)
        att = torch.bmm(t, p) * self.scale
        out = torch.bmm(torch.softmax(att, dim=2), g)
        return x + self.z(out.permute(0, 2, 1).reshape(B, C, H, W))
