# case: other_state_space_decay expect: clean
import torch
from torch import nn


class Retention(nn.Module):
    """Decay instead of softmax; exp and a product stand in one function."""

    def __init__(self, width, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(width, d), nn.Linear(width, d), nn.Linear(width, width)
        self.log_decay = nn.Parameter(torch.tensor(-0.1))
        self.scale = d**-0.5

    def forward(self, x):
        n = x.shape[1]
        at = torch.arange(n)
        gap = (at[:, None] - at[None, :]).clamp(min=0)
        decay = torch.tril(torch.exp(self.log_decay * gap))
        return (self.q(x) @ self.k(x).transpose(1, 2) * self.scale * decay) @ self.v(x)
