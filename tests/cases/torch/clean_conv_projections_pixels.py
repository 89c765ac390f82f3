# case: clean_conv_projections_pixels expect: clean
# proved: yes
import torch
from torch import nn
from torch.nn import functional as F


class Skylight(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.GroupNorm(4, channels)
        self.to_q = nn.Conv2d(channels, channels, kernel_size=1)
        self.to_k = nn.Conv2d(channels, channels, kernel_size=1)
        self.to_v = nn.Conv2d(channels, channels, kernel_size=1)
        self.out = nn.Conv2d(channels, channels, kernel_size=1)

    def forward(self, image):
        h = self.norm(image)
        q, k, v = self.to_q(h), self.to_k(h), self.to_v(h)
        batch, channels, height, width = q.shape
        q = q.reshape(batch, channels, height * width).permute(0, 2, 1)
        k = k.reshape(batch, channels, height * width)
        v = v.reshape(batch, channels, height * width)
        logits = torch.bmm(q, k) * (int(channels) ** (-0.5))
        weights = F.softmax(logits, dim=2)
        mixed = torch.bmm(v, weights.permute(0, 2, 1)).reshape(batch, channels, height, width)
        return image + self.out(mixed)
