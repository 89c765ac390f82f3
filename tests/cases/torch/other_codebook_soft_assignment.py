# case: other_codebook_soft_assignment expect: clean
import torch
from torch import nn


class Codebook(nn.Module):
    """Distances to the codes, their softmax, and the codes mixed back."""

    def __init__(self, codes, dim):
        super().__init__()
        self.codes = nn.Parameter(torch.randn(codes, dim))

    def forward(self, z):
        flat = z.reshape(-1, z.shape[-1])
        distance = flat.pow(2).sum(1, keepdim=True) - 2 * flat @ self.codes.t() + self.codes.pow(2).sum(1)
        p = torch.softmax(-distance, dim=1)
        return (p @ self.codes).view_as(z)
