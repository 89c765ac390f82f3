# case: clean_property_scale expect: clean
# proved: yes
import torch
from torch import nn


class Orchard(nn.Module):
    def __init__(self, width, rows):
        super().__init__()
        self.width, self.rows = width, rows
        self.maps = nn.ModuleDict({name: nn.Linear(width, width) for name in ("q", "k", "v")})

    @property
    def row_width(self):
        return self.width // self.rows

    @property
    def scale(self):
        return self.row_width**-0.5

    def in_rows(self, name, x):
        y = self.maps[name](x)
        return y.view(*y.shape[:-1], self.rows, self.row_width).transpose(-3, -2)

    def forward(self, x):
        q, k, v = self.in_rows("q", x), self.in_rows("k", x), self.in_rows("v", x)
        p = torch.softmax(self.scale * (q @ k.transpose(-1, -2)), dim=-1)
        return (p @ v).transpose(-3, -2).flatten(-2)
