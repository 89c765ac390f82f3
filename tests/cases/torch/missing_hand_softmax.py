# case: missing_hand_softmax expect: missing-scale line: 18 alt: 19
import torch
from torch import nn


def normalise(logits):
    top = logits.max(dim=-1, keepdim=True).values
    e = torch.exp(logits - top)
    return e / e.sum(dim=-1, keepdim=True)


class ByHand(nn.Module):
    def __init__(self, width, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(width, d), nn.Linear(width, d), nn.Linear(width, width)

    def forward(self, x):
        agreement = self.q(x) @ self.k(x).transpose(-1, -2)
        return normalise(agreement) @ self.v(x)
