# case: other_mask_again_and_renormalise expect: clean
# proved: yes
import torch
from torch import nn


class Renormed(nn.Module):
    def __init__(self, width, d):
        super().__init__()
        self.scale = d**-0.5
        self.q, self.k, self.v = nn.Linear(width, d), nn.Linear(width, d), nn.Linear(width, width)

    def forward(self, x, keep):
        p = torch.softmax(self.q(x) @ self.k(x).transpose(1, 2) * self.scale, dim=-1)
        p = p * keep[:, None, :]
        p = p / (p.sum(dim=-1, keepdim=True) + 1e-9)
        return p @ self.v(x)
