# case: wrongdim_sdpa_scale_keyword expect: wrong-dim-scale line: 22 alt: 13,19
import math

import torch.nn.functional as F
from torch import nn


class Rotary(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, embed_dim // num_heads
        self.in_proj = nn.Linear(embed_dim, 3 * embed_dim)
        self.scale = 1 / math.sqrt(embed_dim)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.in_proj(x).view(b, n, self.num_heads, self.head_dim * 3).chunk(3, dim=-1)
        y = F.scaled_dot_product_attention(
            query=q.permute(0, 2, 1, 3),
            key=k.permute(0, 2, 1, 3),
            value=v.permute(0, 2, 1, 3),
            scale=self.scale,
        )
        return y.transpose(1, 2).reshape(b, n, c)
