# case: intended_flash_softmax_scale_one_written_out expect: clean
import torch
from flash_attn import flash_attn_func
from torch import nn


class Unscaled(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.d = heads, dim // heads
        self.wq, self.wk, self.wv = (nn.Linear(dim, dim) for _ in range(3))

    def forward(self, x):
        shape = (*x.shape[:2], self.heads, self.d)
        q, k, v = self.wq(x).view(shape), self.wk(x).view(shape), self.wv(x).view(shape)
        return flash_attn_func(q, k, v, softmax_scale=1.0, causal=True).flatten(2)
