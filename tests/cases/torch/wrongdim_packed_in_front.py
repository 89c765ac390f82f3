# case: wrongdim_packed_in_front expect: wrong-dim-scale line: 16
import torch
from einops import pack, rearrange, unpack
from torch import nn


def pack_one(t, pattern):
    return pack([t], pattern)


class Attention(nn.Module):
    """Whatever axes stand in front are packed into one, and come back."""

    def __init__(self, width, heads, head_dim):
        super().__init__()
        self.heads, self.scale = heads, (heads * head_dim) ** -0.5
        self.q, self.kv = nn.Linear(width, heads * head_dim), nn.Linear(width, 2 * head_dim)

    def forward(self, x):
        q, (k, v) = rearrange(self.q(x), "... n (h d) -> ... h n d", h=self.heads), self.kv(x).chunk(2, dim=-1)
        q, sizes = pack_one(q, "* h n d")
        (k, _), (v, _) = pack_one(k, "* n d"), pack([v], "* n d")
        sim = torch.einsum("b h i d, b j d -> b h i j", q, k) * self.scale
        out = torch.einsum("b h i j, b j d -> b h i d", sim.softmax(dim=-1), v)
        return unpack(out, sizes, "* h n d")[0]
