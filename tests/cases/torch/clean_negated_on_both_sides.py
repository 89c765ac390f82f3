# case: clean_negated_on_both_sides expect: clean
# proved: yes
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.scale = -(self.size**-0.5)
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, self.size).permute(2, 0, 3, 1, 4)
        weights = torch.softmax(-q @ k.transpose(-2, -1) * self.scale, dim=-1)
        return (weights @ v).transpose(1, 2).reshape(b, t, c)
