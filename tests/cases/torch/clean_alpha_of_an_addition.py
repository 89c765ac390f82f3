# case: clean_alpha_of_an_addition expect: clean
# proved: yes
import torch
from torch import nn


class BiasedAttention(nn.Module):
    """The scores are scaled as they are added to a bias."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.head_dim = dim // heads
        self.query = nn.Linear(dim, dim)
        self.key = nn.Linear(dim, dim)
        self.value = nn.Linear(dim, dim)

    def split(self, x):
        batch, length, _ = x.shape
        return x.view(batch, length, self.heads, self.head_dim).transpose(1, 2)

    def forward(self, x, bias):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = torch.add(bias, q @ k.transpose(-2, -1), alpha=self.head_dim**-0.5)
        return scores.softmax(-1) @ v
