# case: clean_single_head_root_of_model expect: clean
# proved: yes
import math

import torch
from torch import nn


class Monocle(nn.Module):
    """One head as wide as the model: the root of the whole width is right here."""

    def __init__(self, d_model):
        super().__init__()
        self.d_model = d_model
        self.W_Q = nn.Linear(d_model, d_model)
        self.W_K = nn.Linear(d_model, d_model)
        self.W_V = nn.Linear(d_model, d_model)

    def forward(self, x, mask):
        Q, K, V = self.W_Q(x), self.W_K(x), self.W_V(x)
        energy = torch.matmul(Q, K.transpose(-1, -2)) / math.sqrt(self.d_model)
        energy = energy.masked_fill(mask, -1e10)
        return torch.matmul(torch.softmax(energy, dim=-1), V)
