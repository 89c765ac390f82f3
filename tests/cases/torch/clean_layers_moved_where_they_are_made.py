# case: clean_layers_moved_where_they_are_made expect: clean
# proved: yes
import torch
from torch import nn


class Part(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, width)

    def forward(self, x):
        return self.layer(x)


class Attention(nn.Module):
    """A layer, or a module of one's own, that is moved, cast or frozen where it is made is that layer."""

    def __init__(self, width, device=None):
        super().__init__()
        self.device = device if device else ("cuda" if torch.cuda.is_available() else "cpu")
        self.query, self.key = nn.Linear(width, width).to(self.device), Part(width).to(self.device).half()
        self.value = nn.Linear(width, width).cuda().requires_grad_(False)
        self.scale = width**0.5

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        return torch.softmax(torch.matmul(q, k.transpose(-2, -1)) / self.scale, dim=-1) @ v
