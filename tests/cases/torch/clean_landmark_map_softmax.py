# case: clean_landmark_map_softmax expect: clean
# proved: yes
import torch
from einops import rearrange, reduce
from torch import einsum, nn


class Landmarks(nn.Module):
    def __init__(self, dim, dim_head=16, heads=4, stride=4):
        super().__init__()
        self.heads, self.stride = heads, stride
        self.scale = dim_head**-0.5
        self.to_qkv = nn.Linear(dim, heads * dim_head * 3, bias=False)

    def forward(self, x):
        q, k, v = self.to_qkv(x).chunk(3, dim=-1)
        q, k, v = map(lambda t: rearrange(t, "b n (h d) -> b h n d", h=self.heads), (q, k, v))
        q = q * self.scale
        q_few = reduce(q, "b h (m l) d -> b h m d", "mean", l=self.stride)
        k_few = reduce(k, "b h (m l) d -> b h m d", "mean", l=self.stride)
        pattern = "... i d, ... j d -> ... i j"
        one, two, three = einsum(pattern, q, k_few), einsum(pattern, q_few, k_few), einsum(pattern, q_few, k)
        one, two, three = map(lambda t: t.softmax(dim=-1), (one, two, three))
        out = (one @ torch.linalg.pinv(two)) @ (three @ v)
        return rearrange(out, "b h n d -> b n (h d)")
