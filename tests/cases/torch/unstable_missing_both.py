# case: unstable_missing_both expect: missing-scale line: 8 alt: 9,11,20
# case: unstable_missing_both expect: unstable-softmax line: 9 alt: 11
import torch
from torch import nn


def raw_softmax_product(Q, K, V):
    S = torch.matmul(Q, K.transpose(-2, -1))
    A = torch.exp(S)
    total = A.sum(dim=-1, keepdim=True)
    return torch.matmul(A / total, V)


class Hasty(nn.Module):
    def __init__(self, width, d):
        super().__init__()
        self.Q, self.K, self.V = nn.Linear(width, d), nn.Linear(width, d), nn.Linear(width, width)

    def forward(self, x):
        return raw_softmax_product(self.Q(x), self.K(x), self.V(x))
