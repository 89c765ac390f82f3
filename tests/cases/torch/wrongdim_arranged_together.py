# case: wrongdim_arranged_together expect: wrong-dim-scale line: 12
import torch
from einops_exts import rearrange_many
from torch import nn


class Attention(nn.Module):
    """As its clean neighbour, with the root of all heads."""

    def __init__(self, features, heads, head_features):
        super().__init__()
        self.heads, self.scale = heads, (heads * head_features) ** -0.5
        self.to_q, self.to_kv = nn.Linear(features, heads * head_features), nn.Linear(features, 2 * heads * head_features)

    def forward(self, x):
        k, v = self.to_kv(x).chunk(2, dim=-1)
        q, k, v = rearrange_many([self.to_q(x), k, v], "b n (h d) -> b h n d", h=self.heads)
        return torch.softmax(q @ k.transpose(-2, -1) * self.scale, dim=-1) @ v
