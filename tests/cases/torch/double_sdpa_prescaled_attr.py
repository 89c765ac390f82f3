# case: double_sdpa_prescaled_attr expect: double-scale line: 20 alt: 18
import torch
import torch.nn.functional as F
from torch import nn


class Migrated(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, embed_dim // num_heads
        self.scaling = self.head_dim**-0.5
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(embed_dim, embed_dim) for _ in range(3))

    def _shape(self, t):
        return t.view(t.size(0), -1, self.num_heads, self.head_dim).transpose(1, 2).contiguous()

    def forward(self, x):
        q = self._shape(self.q_proj(x) * self.scaling)
        k, v = self._shape(self.k_proj(x)), self._shape(self.v_proj(x))
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return out.transpose(1, 2).flatten(2)
