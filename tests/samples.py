"""Small programs for the tests of the command line."""

FAULTY = """\
import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, embed_size, heads):
        super().__init__()
        self.embed_size = embed_size
        self.heads = heads
        self.head_dim = embed_size // heads
        self.to_q = nn.Linear(embed_size, embed_size)
        self.to_k = nn.Linear(embed_size, embed_size)
        self.to_v = nn.Linear(embed_size, embed_size)

    def forward(self, x):
        n, length, _ = x.shape
        q = self.to_q(x).view(n, length, self.heads, self.head_dim).transpose(1, 2)
        k = self.to_k(x).view(n, length, self.heads, self.head_dim).transpose(1, 2)
        v = self.to_v(x).view(n, length, self.heads, self.head_dim).transpose(1, 2)
        energy = q @ k.transpose(-2, -1)
        weights = torch.softmax(energy / (self.embed_size ** (1 / 2)), dim=-1)
        return weights @ v
"""
WRONG = "(self.embed_size ** (1 / 2))"
ROW = FAULTY[: FAULTY.index(WRONG)].count("\n") + 1
COLUMN = FAULTY.splitlines()[ROW - 1].index(WRONG) + 1
CLEAN = FAULTY.replace(WRONG, "(self.head_dim ** 0.5)")
PLAIN = "def add(a, b):\n    return a + b\n"
