# case: wrongdim_nonlocal_input_channels expect: wrong-dim-scale line: 10 alt: 20
import torch
from torch import nn


class Remote(nn.Module):
    def __init__(self, in_channels, reduction=8, use_scale=True):
        super().__init__()
        inner = in_channels // reduction
        self.scale = in_channels**-0.5 if use_scale else 1.0
        self.theta, self.phi, self.g = (nn.Conv2d(in_channels, inner, 1) for _ in range(3))
        self.z = nn.Conv2d(inner, in_channels, 1)

    def forward(self, x):
        t, p, g = self.theta(x), self.phi(x), self.g(x)
        n, c, rows, cols = t.size()
        t = t.view(n, c, -1).permute(0, 2, 1)
        p = p.view(n, c, -1)
        g = g.view(n, c, -1).permute(0, 2, 1)
        map_ = torch.bmm(t, p) * self.scale
        out = torch.bmm(torch.softmax(map_, dim=2), g)
        return x + self.z(out.permute(0, 2, 1).reshape(n, c, rows, cols))
