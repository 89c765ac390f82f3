# case: causal_and_mask_from_helper expect: sdpa-causal-and-mask line: 21
import torch
import torch.nn.functional as F
from torch import nn


def no_future(n):
    return torch.triu(torch.full((n, n), float("-inf")), diagonal=1)


class Redundant(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = (nn.Linear(dim, dim) for _ in range(3))

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (f(x).view(b, n, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        mask = no_future(n)
        y = F.scaled_dot_product_attention(q, k, v, mask, is_causal=True)
        return y.transpose(1, 2).reshape(b, n, c)
