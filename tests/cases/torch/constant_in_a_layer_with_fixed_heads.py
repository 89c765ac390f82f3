# case: constant_in_a_layer_with_fixed_heads expect: constant-scale line: 14
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(96, 96), nn.Linear(96, 96), nn.Linear(96, 96)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (f(x).view(b, t, 3, 32).transpose(1, 2) for f in (self.q, self.k, self.v))
        weights = torch.softmax(q @ k.transpose(-2, -1) * 0.1, dim=-1)
        return (weights @ v).transpose(1, 2).reshape(b, t, 96)
