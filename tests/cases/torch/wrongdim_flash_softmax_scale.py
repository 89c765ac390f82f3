# case: wrongdim_flash_softmax_scale expect: wrong-dim-scale line: 16
import torch
from flash_attn import flash_attn_func
from torch import nn


class Swift(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads, self.hidden = heads, hidden
        self.wqkv = nn.Linear(hidden, 3 * hidden)

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = self.wqkv(x).view(b, n, 3, self.heads, self.hidden // self.heads).unbind(2)
        out = flash_attn_func(q, k, v, softmax_scale=self.hidden**-0.5)
        return out.flatten(2)
