# case: double_in_bodies_on_one_row expect: double-scale line: 9 alt: 17
import torch
from torch import nn


def scaled(q): scale = q.shape[-1] ** -0.5; return q * scale


def attend(q, k, v): return torch.softmax(scaled(q) @ k.transpose(-2, -1) * k.shape[-1] ** -0.5, dim=-1) @ v


class Attention(nn.Module):
    def __init__(self, width): super().__init__(); self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        return attend(q, k, v)
