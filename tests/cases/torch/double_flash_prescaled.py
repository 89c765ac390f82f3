# case: double_flash_prescaled expect: double-scale line: 18 alt: 16
import math

from flash_attn import flash_attn_func
from torch import nn


class FastTwice(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.d = heads, dim // heads
        self.wq, self.wk, self.wv = (nn.Linear(dim, dim) for _ in range(3))

    def forward(self, x):
        shape = (*x.shape[:2], self.heads, self.d)
        q = self.wq(x).view(shape) / math.sqrt(self.d)
        k, v = self.wk(x).view(shape), self.wv(x).view(shape)
        return flash_attn_func(q, k, v, causal=True).flatten(2)
