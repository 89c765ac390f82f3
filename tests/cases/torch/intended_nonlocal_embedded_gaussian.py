# case: intended_nonlocal_embedded_gaussian expect: clean
# verdict: intended
import torch
import torch.nn.functional as F
from torch import nn


class FarPixels(nn.Module):
    """theta and phi are 1x1 convolutions; the block is added to its input."""

    def __init__(self, channels, inner=None):
        super().__init__()
        self.inner = inner or channels // 2
        self.g = nn.Conv3d(channels, self.inner, 1)
        self.theta = nn.Conv3d(channels, self.inner, 1)
        self.phi = nn.Conv3d(channels, self.inner, 1)
        self.w = nn.Sequential(nn.Conv3d(self.inner, channels, 1), nn.BatchNorm3d(channels))
        nn.init.zeros_(self.w[1].weight)

    def forward(self, clip):
        b = clip.size(0)
        g = self.g(clip).flatten(2).transpose(1, 2)
        theta = self.theta(clip).flatten(2).transpose(1, 2)
        phi = self.phi(clip).flatten(2)
        f = F.softmax(torch.matmul(theta, phi), dim=-1)
        y = torch.matmul(f, g).transpose(1, 2).reshape(b, self.inner, *clip.shape[2:])
        return self.w(y) + clip
