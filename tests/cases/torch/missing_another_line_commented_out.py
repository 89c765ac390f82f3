# case: missing_another_line_commented_out expect: missing-scale line: 18
import torch
from torch import nn


class Attention(nn.Module):
    """What is commented out is no scale."""

    def __init__(self, width):
        super().__init__()
        self.width = width
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        # q = q / q.norm(dim=-1, keepdim=True)
        # print(q.shape, x.mean() / 2)
        return torch.softmax(q @ k.transpose(-2, -1), dim=-1) @ v
