# case: wrong_dim_setting_named_like_a_method expect: wrong-dim-scale line: 17
import math

import torch
from torch import nn


class Loom(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.args = args
        self.ask, self.tell, self.carry = (nn.Linear(args.dim, args.dim) for _ in range(3))

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = (f(x).view(b, n, self.args.n_heads, -1).transpose(1, 2) for f in (self.ask, self.tell, self.carry))
        return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(self.args.dim), dim=-1) @ v
