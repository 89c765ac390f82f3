# case: clean_order_of_operations expect: clean
# proved: yes
import torch
from torch import nn


class Layer(nn.Module):
    """A tuple of words is one value; a word in a text is a part of it."""

    def __init__(self, dim, heads, order=("attention", "norm"), mode="plain"):
        super().__init__()
        self.heads, self.order = heads, order
        if order == ("attention", "norm"):
            self.norm = nn.LayerNorm(dim)
        self.scale = dim**-0.5 if mode in "plain or rotated" else (dim // 1) ** -0.5
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        if self.order == ("norm", "attention"):
            x = self.norm(x)
        weights = torch.softmax(self.q(x) @ self.k(x).transpose(-2, -1) * self.scale, dim=-1)
        x = weights @ self.v(x)
        return self.norm(x) if self.order == ("attention", "norm") else x
