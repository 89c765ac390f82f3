# case: unknown_constant_for_an_empty_rest expect: clean
import torch
from torch import nn


def turned(x, angles):
    turning = angles.shape[-1]
    return torch.cat((x[..., :turning] * angles, x[..., turning:]), dim=-1)


class FullyTurned(nn.Module):
    """The rotation may leave no features over: 64 of 64 are turned."""

    def __init__(self, dim, heads, size):
        super().__init__()
        self.heads, self.scale = heads, size**-0.5
        self.qkv = nn.Linear(dim, 3 * heads * size)

    def forward(self, x, angles):
        b, n, _ = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        q, k = turned(q, angles), turned(k, angles)
        return (q @ k.transpose(-2, -1) * self.scale).softmax(dim=-1) @ v


tokens = torch.randn(2, 16, 512)
attention = FullyTurned(512, heads=8, size=64)
out = attention(tokens, torch.ones(16, 64))
