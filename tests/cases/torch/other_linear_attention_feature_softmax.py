# case: other_linear_attention_feature_softmax expect: clean
import torch
from einops import rearrange
from torch import nn


class Linearised(nn.Module):
    def __init__(self, dim, heads=4, dim_head=16):
        super().__init__()
        self.heads, self.scale = heads, dim_head**-0.5
        self.to_qkv = nn.Linear(dim, heads * dim_head * 3, bias=False)

    def forward(self, x):
        q, k, v = map(lambda t: rearrange(t, "b n (h d) -> (b h) n d", h=self.heads), self.to_qkv(x).chunk(3, dim=-1))
        q = q.softmax(dim=-1) * self.scale
        k = k.softmax(dim=-2)
        context = torch.einsum("bnd,bne->bde", k, v)
        out = torch.einsum("bde,bnd->bne", context, q)
        return rearrange(out, "(b h) n d -> b n (h d)", h=self.heads)
