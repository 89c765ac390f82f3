# case: clean_flash_func_scale_attr expect: clean
# proved: yes
import torch
from flash_attn import flash_attn_func
from torch import nn


class Rapids(nn.Module):
    def __init__(self, dim, num_heads, head_dim):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, head_dim
        self.softmax_scale = head_dim**-0.5
        self.wq = nn.Linear(dim, num_heads * head_dim, bias=False)
        self.wk = nn.Linear(dim, num_heads * head_dim, bias=False)
        self.wv = nn.Linear(dim, num_heads * head_dim, bias=False)

    def forward(self, x):
        shape = (*x.shape[:2], self.num_heads, self.head_dim)
        q, k, v = self.wq(x).view(shape), self.wk(x).view(shape), self.wv(x).view(shape)
        drop = 0.1 if self.training else 0.0
        out = flash_attn_func(q, k, v, dropout_p=drop, softmax_scale=self.softmax_scale, causal=True)
        return out.flatten(2)
