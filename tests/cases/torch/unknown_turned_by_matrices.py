# case: unknown_turned_by_matrices expect: clean
# verdict: unknown
import torch
from torch import nn


class TurnedByMatrices(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.head_dim = width // heads
        self.q_proj = nn.Linear(width, width)
        self.k_proj = nn.Linear(width, width)
        self.v_proj = nn.Linear(width, width)

    def forward(self, x, turns):
        b, t, _ = x.shape
        q = self.q_proj(x).view(b, t, self.heads, self.head_dim).transpose(1, 2)
        k = self.k_proj(x).view(b, t, self.heads, self.head_dim).transpose(1, 2)
        v = self.v_proj(x).view(b, t, self.heads, self.head_dim).transpose(1, 2)
        q = (q.reshape(b, self.heads, t, -1, 1, 2) * turns).sum(5).flatten(3)
        k = (k.reshape(b, self.heads, t, -1, 1, 2) * turns).sum(5).flatten(3)
        return torch.softmax(q @ k.transpose(2, 3) * self.head_dim**-0.5, dim=-1) @ v
