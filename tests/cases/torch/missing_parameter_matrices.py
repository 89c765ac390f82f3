# case: missing_parameter_matrices expect: missing-scale line: 15 alt: 16
import torch
from torch import nn


class Weights(nn.Module):
    def __init__(self, d_in, d_att):
        super().__init__()
        self.Wq = nn.Parameter(torch.rand(d_in, d_att))
        self.Wk = nn.Parameter(torch.rand(d_in, d_att))
        self.Wv = nn.Parameter(torch.rand(d_in, d_in))

    def forward(self, rows):
        q, k, v = rows @ self.Wq, rows @ self.Wk, rows @ self.Wv
        omega = q @ k.T
        return torch.softmax(omega, dim=-1) @ v
