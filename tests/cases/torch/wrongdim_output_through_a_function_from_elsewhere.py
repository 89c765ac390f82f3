# case: wrongdim_output_through_a_function_from_elsewhere expect: wrong-dim-scale line: 12
"""Here the heads are seen being split, whatever becomes of their output."""

import torch.nn.functional as F
from somewhere import gated_merge
from torch import nn


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads, self.head_dim, self.scale = config.heads, config.head_dim, (config.heads * config.head_dim) ** -0.5
        self.into = nn.Linear(config.width, 3 * self.heads * self.head_dim)
        self.out = nn.Linear(self.heads * self.head_dim, config.width)

    def forward(self, x):
        b, t, _ = x.shape
        mixed = self.into(x)
        q, k, v = mixed.view(b, t, 3, self.heads, self.head_dim).unbind(2)
        y = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), scale=self.scale)
        return self.out(gated_merge(y, mixed))
