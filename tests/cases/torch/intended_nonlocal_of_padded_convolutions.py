# case: intended_nonlocal_of_padded_convolutions expect: clean
# verdict: intended
import torch
from torch import nn


class Convolution(nn.Module):
    def __init__(self, inputs, outputs, size, reach=1):
        super().__init__()
        padding = (size + (size - 1) * (reach - 1)) // 2
        self.conv = nn.Conv2d(inputs, outputs, size, padding=padding, dilation=reach)

    def forward(self, x):
        return self.conv(x)


class SelfAttention(nn.Module):
    """Pixels attend to pixels, and a gate lets the result in."""

    def __init__(self, width):
        super().__init__()
        self.query = Convolution(width, width // 8, 1)
        self.key = Convolution(width, width // 8, 1)
        self.value = Convolution(width, width, 1)
        self.gamma = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        batch, channels, height, width = x.size()
        view = (batch, -1, height * width)
        query = self.query(x).view(*view).permute(0, 2, 1)
        key = self.key(x).view(*view)
        weights = torch.softmax(torch.bmm(query, key), dim=-1)
        value = self.value(x).view(*view)
        out = torch.bmm(value, weights.permute(0, 2, 1)).view(batch, channels, height, width)
        return self.gamma * out + x
