# case: clean_softmax_in_sequential expect: clean
# proved: yes
import torch
from einops import rearrange
from torch import nn


class Kite(nn.Module):
    def __init__(self, dim, dim_head=32, dropout=0.0):
        super().__init__()
        assert dim % dim_head == 0
        self.heads = dim // dim_head
        self.scale = dim_head**-0.5
        self.to_qkv = nn.Linear(dim, dim * 3, bias=False)
        self.attend = nn.Sequential(nn.Softmax(dim=-1), nn.Dropout(dropout))

    def forward(self, x):
        q, k, v = self.to_qkv(x).chunk(3, dim=-1)
        q, k, v = map(lambda t: rearrange(t, "b n (h d) -> b h n d", h=self.heads), (q, k, v))
        q = q * self.scale
        sim = torch.einsum("b h i d, b h j d -> b h i j", q, k)
        return rearrange(self.attend(sim) @ v, "b h n d -> b n (h d)")
