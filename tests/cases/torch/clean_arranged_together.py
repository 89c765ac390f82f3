# case: clean_arranged_together expect: clean
# proved: yes
import torch
from einops import rearrange
from einops_exts import rearrange_many
from torch import einsum, nn


class Attention(nn.Module):
    """Query, key and value are arranged by one call."""

    def __init__(self, features, heads, head_features):
        super().__init__()
        self.heads, self.scale = heads, head_features**-0.5
        self.to_q, self.to_kv = nn.Linear(features, heads * head_features), nn.Linear(features, 2 * heads * head_features)

    def forward(self, x):
        q, k, v = self.to_q(x), *self.to_kv(x).chunk(2, dim=-1)
        q, k, v = rearrange_many((q, k, v), "b n (h d) -> b h n d", h=self.heads)
        sim = einsum("... n d, ... m d -> ... n m", q, k) * self.scale
        return rearrange(torch.softmax(sim, dim=-1) @ v, "b h n d -> b n (h d)")
