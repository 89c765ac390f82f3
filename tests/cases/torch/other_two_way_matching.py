# case: other_two_way_matching expect: clean
import torch
from torch import nn


class Matcher(nn.Module):
    """Dual softmax over a matrix of similarities between two images."""

    def __init__(self, temperature=0.1):
        super().__init__()
        self.temperature = temperature

    def forward(self, a, b):
        a, b = (t / t.shape[-1] ** 0.5 for t in (a, b))
        sim = torch.einsum("nlc,nsc->nls", a, b) / self.temperature
        return torch.softmax(sim, dim=1) * torch.softmax(sim, dim=2)
