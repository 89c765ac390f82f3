# case: clean_stable_helper_chosen_at_run_time expect: clean
# proved: yes
import torch
from einops import rearrange
from torch import nn


def careful_softmax(t, dim=-1, alpha=32**2):
    t = t / alpha
    t = t - torch.amax(t, dim=dim, keepdim=True).detach()
    return (t * alpha).softmax(dim=dim)


class Painter(nn.Module):
    def __init__(self, dim, heads=8, dim_head=64, careful=False):
        super().__init__()
        self.heads, self.careful = heads, careful
        self.scale = dim_head**-0.5
        self.to_qkv = nn.Linear(dim, heads * dim_head * 3, bias=False)

    def forward(self, x):
        softmax = torch.softmax if not self.careful else careful_softmax
        q, k, v = map(lambda t: rearrange(t, "b n (h d) -> b h n d", h=self.heads), self.to_qkv(x).chunk(3, dim=-1))
        q = q * self.scale
        dots = torch.einsum("b h i d, b h j d -> b h i j", q, k)
        attn = softmax(dots, dim=-1)
        return rearrange(attn @ v, "b h n d -> b n (h d)")
