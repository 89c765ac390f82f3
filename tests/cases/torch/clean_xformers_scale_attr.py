# case: clean_xformers_scale_attr expect: clean
# proved: yes
import torch
import xformers.ops
from torch import nn


class Ferry(nn.Module):
    def __init__(self, inner, heads):
        super().__init__()
        self.heads = heads
        self.dim_head = inner // heads
        self.scale = self.dim_head**-0.5
        self.to_q, self.to_k, self.to_v = nn.Linear(inner, inner), nn.Linear(inner, inner), nn.Linear(inner, inner)

    def forward(self, x, other):
        b = x.shape[0]
        q = self.to_q(x).view(b, -1, self.heads, self.dim_head)
        k = self.to_k(other).view(b, -1, self.heads, self.dim_head)
        v = self.to_v(other).view(b, -1, self.heads, self.dim_head)
        y = xformers.ops.memory_efficient_attention(q, k, v, attn_bias=None, scale=self.scale)
        return y.reshape(b, -1, self.heads * self.dim_head)
