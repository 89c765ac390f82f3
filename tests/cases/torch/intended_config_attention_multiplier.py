# case: intended_config_attention_multiplier expect: clean
import torch
from torch import nn


class Multiplied(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads, self.head_dim = config.num_attention_heads, config.hidden_size // config.num_attention_heads
        self.scaling = config.attention_multiplier
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(config.hidden_size, config.hidden_size, bias=False) for _ in range(3))

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (p(x).view(b, n, self.heads, -1).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        weights = torch.matmul(q, k.transpose(2, 3)) * self.scaling
        return torch.matmul(nn.functional.softmax(weights, dim=-1), v).transpose(1, 2).reshape(b, n, c)
