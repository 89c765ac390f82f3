# case: clean_setting_named_like_a_method expect: clean
# proved: yes
import math
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Plan:
    dim: int = 512
    heads: int = 8


class Weaver(nn.Module):
    def __init__(self, plan: Plan):
        super().__init__()
        self.plan = plan
        self.head_dim = plan.dim // plan.heads
        self.ask, self.tell, self.carry = (nn.Linear(plan.dim, plan.dim) for _ in range(3))

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = (f(x).view(b, n, self.plan.heads, self.head_dim).transpose(1, 2) for f in (self.ask, self.tell, self.carry))
        return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(self.head_dim), dim=-1) @ v
