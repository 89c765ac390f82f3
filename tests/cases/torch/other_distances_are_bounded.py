# case: other_distances_are_bounded expect: clean
import torch
from torch import nn


class Soft(nn.Module):
    """exp of minus a distance is at most one: no maximum has to be taken off."""

    def __init__(self, width, centres):
        super().__init__()
        self.centres = nn.Parameter(torch.randn(centres, width))

    def forward(self, x):
        w = torch.exp(-torch.cdist(x, self.centres))
        w = w / w.sum(dim=-1, keepdim=True)
        return w @ self.centres
