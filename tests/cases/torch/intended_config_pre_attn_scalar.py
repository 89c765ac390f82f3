# case: intended_config_pre_attn_scalar expect: clean
import torch
from torch import nn


class Configured(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads, self.head_dim = config.num_attention_heads, config.head_dim
        self.scaling = config.query_pre_attn_scalar**-0.5
        self.q_proj = nn.Linear(config.hidden_size, self.heads * self.head_dim, bias=False)
        self.k_proj = nn.Linear(config.hidden_size, self.heads * self.head_dim, bias=False)
        self.v_proj = nn.Linear(config.hidden_size, self.heads * self.head_dim, bias=False)

    def forward(self, x):
        shape = (*x.shape[:-1], -1, self.head_dim)
        q, k, v = (p(x).view(shape).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        return nn.functional.scaled_dot_product_attention(q, k, v, scale=self.scaling).transpose(1, 2).flatten(2)
