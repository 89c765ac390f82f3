# case: other_own_softmax_function_without_axis expect: clean
# proved: yes
import torch
from torch import nn


def softmax(x):
    return torch.softmax(x.float(), dim=-1).type_as(x)


class OwnName(nn.Module):
    def __init__(self, width, d):
        super().__init__()
        self.d = d
        self.q, self.k, self.v = nn.Linear(width, d), nn.Linear(width, d), nn.Linear(width, width)

    def forward(self, x):
        return softmax(self.q(x) @ self.k(x).transpose(1, 2) / self.d**0.5) @ self.v(x)
