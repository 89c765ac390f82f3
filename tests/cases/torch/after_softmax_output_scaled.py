# case: after_softmax_output_scaled expect: scale-after-softmax line: 15 alt: 13,14
import torch
from torch import nn


class OnTheOutput(nn.Module):
    def __init__(self, width, d):
        super().__init__()
        self.scale = d**-0.5
        self.q, self.k, self.v = nn.Linear(width, d), nn.Linear(width, d), nn.Linear(width, width)

    def forward(self, x):
        scores = self.q(x) @ self.k(x).transpose(1, 2)
        weights = torch.softmax(scores, dim=-1)
        return weights @ self.v(x) * self.scale
