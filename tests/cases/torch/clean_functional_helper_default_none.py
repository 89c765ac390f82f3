# case: clean_functional_helper_default_none expect: clean
# proved: yes
import math

import torch
from torch import nn


def weigh(q, k, v, scale=None, bias=None):
    if scale is None:
        scale = 1.0 / math.sqrt(q.size(-1))
    logits = torch.einsum("...qc,...kc->...qk", q, k) * scale
    if bias is not None:
        logits = logits + bias
    return torch.einsum("...qk,...kc->...qc", logits.softmax(-1), v)


class HarborPlan(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.inner = nn.Linear(dim, 3 * dim, bias=False)
        self.outer = nn.Linear(dim, dim)

    def forward(self, ships):
        b, n, dim = ships.shape
        q, k, v = self.inner(ships).reshape(b, n, 3, self.heads, dim // self.heads).permute(2, 0, 3, 1, 4)
        return self.outer(weigh(q, k, v).transpose(1, 2).reshape(b, n, dim))
