# case: clean_glm_three_factors_cancel expect: clean
# proved: yes
import math

import torch
from torch import nn


class ThreeFactors(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads = config.num_attention_heads
        self.head_size = config.hidden_size // config.num_attention_heads
        self.attention_scale = config.attention_scale
        self.qkv = nn.Linear(config.hidden_size, 3 * config.hidden_size)

    def cut(self, t):
        return t.view(t.shape[0], t.shape[1], self.heads, self.head_size).permute(0, 2, 1, 3)

    def forward(self, x):
        q, k, v = (self.cut(t) for t in self.qkv(x).chunk(3, dim=-1))
        if self.attention_scale > 1.0:
            a = self.attention_scale
            s = torch.matmul(q / math.sqrt(a), k.transpose(-1, -2) / math.sqrt(self.head_size * a))
            s = s * a
        else:
            s = torch.matmul(q, k.transpose(-1, -2) / math.sqrt(self.head_size))
        return torch.matmul(s.softmax(dim=-1), v).permute(0, 2, 1, 3).flatten(2)
