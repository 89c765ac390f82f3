# case: clean_output_through_a_function_from_elsewhere expect: clean
"""A function that is not in the tree makes the output of the heads what the last layer takes: it says nothing of one head's size."""

import torch.nn.functional as F
from somewhere import fused_queries, gated_merge
from torch import nn


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads, self.head_dim = config.heads, config.head_dim
        self.scale = self.head_dim**-0.5
        self.into = nn.Linear(config.width, 4 * self.heads * self.head_dim)
        self.out = nn.Linear(self.heads * self.head_dim, config.width)

    def forward(self, x):
        mixed = self.into(x)
        q, k, v = fused_queries(mixed, self.heads)
        y = F.scaled_dot_product_attention(q.permute(0, 2, 1, 3), k.permute(0, 2, 1, 3), v.permute(0, 2, 1, 3), scale=self.scale)
        return self.out(gated_merge(y, mixed))
