# case: other_head_mask_after_softmax expect: clean
# proved: yes
import torch
from torch import nn


class Prunable(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x, layer_head_mask):
        b, n, c = x.shape
        q, k, v = (f(x).view(b, n, self.heads, self.d).transpose(1, 2) for f in (self.q, self.k, self.v))
        weights = torch.softmax(q @ k.transpose(-1, -2) / self.d**0.5, dim=-1)
        if layer_head_mask is not None:
            weights = layer_head_mask.view(1, -1, 1, 1) * weights
        return (weights @ v).transpose(1, 2).reshape(b, n, c)
