# case: wrongdim_layers_moved_where_they_are_made expect: wrong-dim-scale line: 11
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, inner, device):
        super().__init__()
        self.query, self.key = nn.Linear(width, inner).to(device), nn.Linear(width, inner).to(device).eval()
        self.value = nn.Linear(width, inner).double()
        self.scale = width**0.5

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        return torch.softmax(torch.matmul(q, k.transpose(-2, -1)) / self.scale, dim=-1) @ v
