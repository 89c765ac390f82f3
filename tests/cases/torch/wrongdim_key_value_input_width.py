# case: wrongdim_key_value_input_width expect: wrong-dim-scale line: 14 alt: 15
import math

import torch
from torch import nn


class Across(nn.Module):
    def __init__(self, q_dim, kv_dim, shared):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(q_dim, shared), nn.Linear(kv_dim, shared), nn.Linear(kv_dim, shared)

    def forward(self, x, context):
        root = math.sqrt(context.size(-1))
        s = self.q(x) @ self.k(context).transpose(-2, -1) / root
        return torch.softmax(s, dim=-1) @ self.v(context)
