# case: clean_kv_cache_concat expect: clean
# proved: yes
import math

import torch
from torch import nn


class StreamingHeads(nn.Module):
    def __init__(self, dim, n_heads):
        super().__init__()
        self.n_heads, self.head_dim = n_heads, dim // n_heads
        self.wq, self.wk, self.wv = (nn.Linear(dim, dim, bias=False) for _ in range(3))
        self.cache = None

    def forward(self, x, use_cache=False):
        b, n, dim = x.shape
        q = self.wq(x).reshape(b, n, self.n_heads, self.head_dim).transpose(1, 2)
        k = self.wk(x).reshape(b, n, self.n_heads, self.head_dim).transpose(1, 2)
        v = self.wv(x).reshape(b, n, self.n_heads, self.head_dim).transpose(1, 2)
        if use_cache:
            if self.cache is not None:
                old_k, old_v = self.cache
                k = torch.cat([old_k, k], dim=2)
                v = torch.cat([old_v, v], dim=2)
            self.cache = (k, v)
        logits = torch.matmul(q, k.transpose(-2, -1))
        logits = logits / math.sqrt(self.head_dim)
        return torch.matmul(logits.softmax(-1), v).transpose(1, 2).reshape(b, n, dim)
