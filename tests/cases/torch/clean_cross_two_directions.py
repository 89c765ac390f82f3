# case: clean_cross_two_directions expect: clean
# proved: yes
import torch
from torch import nn


class Handshake(nn.Module):
    """One matrix of scores, read along both axes."""

    def __init__(self, left_dim, right_dim, embed_dim, num_heads):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, embed_dim // num_heads
        self.scale = self.head_dim ** (-0.5)
        self.left, self.right = nn.Linear(left_dim, embed_dim), nn.Linear(right_dim, embed_dim)
        self.left_values, self.right_values = nn.Linear(left_dim, embed_dim), nn.Linear(right_dim, embed_dim)

    def fold(self, t):
        b, n, _ = t.shape
        return t.view(b, n, self.num_heads, self.head_dim).transpose(1, 2).reshape(b * self.num_heads, n, self.head_dim)

    def forward(self, a, b):
        qa = self.fold(self.left(a) * self.scale)
        kb = self.fold(self.right(b))
        va, vb = self.fold(self.left_values(a)), self.fold(self.right_values(b))
        scores = torch.bmm(qa, kb.transpose(1, 2))
        to_left = scores.softmax(dim=-1)
        to_right = scores.transpose(1, 2).softmax(dim=-1)
        return torch.bmm(to_left, vb), torch.bmm(to_right, va)
