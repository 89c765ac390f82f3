# case: other_linear_attention_elu expect: clean
import torch
import torch.nn.functional as F
from torch import nn


class Kernelised(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (f(x).view(b, n, self.heads, -1) for f in (self.q, self.k, self.v))
        q, k = F.elu(q) + 1, F.elu(k) + 1
        kv = torch.einsum("bnhd,bnhm->bhmd", k, v)
        z = 1 / (torch.einsum("bnhd,bhd->bnh", q, k.sum(dim=1)) + 1e-6)
        return torch.einsum("bnhd,bhmd,bnh->bnhm", q, kv, z).reshape(b, n, c)
