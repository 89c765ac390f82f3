# case: double_on_one_of_three_paths expect: double-scale line: 12
import torch
from torch import nn


def attention(module, q, k, v):
    if module.upcast and module.by_layer:
        q, k = q.float() * module.scale, k.float()
    elif module.upcast:
        q, k = q.float(), k.float() * module.scale
    else:
        q = q * module.scale * module.scale
    return torch.softmax(q @ k.transpose(-2, -1), dim=-1) @ v


class Known(nn.Module):
    def __init__(self, width, upcast, by_layer):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
        self.scale, self.upcast, self.by_layer = width**-0.5, upcast, by_layer

    def forward(self, x):
        return attention(self, self.q(x), self.k(x), self.v(x))
