# case: clean_neighbours_grouped expect: clean
import torch
from torch import nn


class Grouped(nn.Module):
    """Neighbouring positions are made one: queries and keys have the features of a group, cut into heads alike."""

    def __init__(self, width, heads, group=3):
        super().__init__()
        self.heads, self.d, self.group = heads, width // heads, group
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def grouped(self, x, layer):
        b, t, _ = x.shape
        heads_first = layer(x).view(b, t, self.heads, self.d).transpose(1, 2)
        return heads_first.transpose(1, 2).contiguous().view(b, t // self.group, self.heads, self.d * self.group).transpose(1, 2)

    def forward(self, x):
        q, k, v = (self.grouped(x, layer) for layer in (self.q, self.k, self.v))
        return torch.softmax(q @ k.transpose(-2, -1) / (self.d * self.group) ** 0.5, dim=-1) @ v
