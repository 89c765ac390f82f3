# case: clean_parameter_matrices expect: clean
# proved: yes
import torch
from torch import nn


class RawMatrices(nn.Module):
    def __init__(self, d_in, d_att):
        super().__init__()
        self.W_q = nn.Parameter(torch.randn(d_in, d_att))
        self.W_k = nn.Parameter(torch.randn(d_in, d_att))
        self.W_v = nn.Parameter(torch.randn(d_in, d_in))

    def forward(self, tokens):
        q = tokens @ self.W_q
        k = tokens @ self.W_k
        v = tokens @ self.W_v
        scores = q @ k.T
        weights = torch.softmax(scores / k.shape[-1] ** 0.5, dim=-1)
        return weights @ v
