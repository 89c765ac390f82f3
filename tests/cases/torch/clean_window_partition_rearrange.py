# case: clean_window_partition_rearrange expect: clean
# proved: yes
import torch
from einops import rearrange
from torch import einsum, nn


class Panes(nn.Module):
    def __init__(self, dim, heads, head_dim, pane=4):
        super().__init__()
        self.heads, self.pane = heads, pane
        self.scale = head_dim**-0.5
        self.to_qkv = nn.Linear(dim, heads * head_dim * 3, bias=False)
        self.bias = nn.Parameter(torch.randn(pane**2, pane**2))

    def forward(self, x):
        b, hh, ww, _, h = *x.shape, self.heads
        rows, cols = hh // self.pane, ww // self.pane
        q, k, v = map(
            lambda t: rearrange(t, "b (r i) (c j) (h d) -> b h (r c) (i j) d", h=h, i=self.pane, j=self.pane),
            self.to_qkv(x).chunk(3, dim=-1),
        )
        dots = einsum("b h w i d, b h w j d -> b h w i j", q, k) * self.scale
        dots += self.bias
        out = einsum("b h w i j, b h w j d -> b h w i d", dots.softmax(dim=-1), v)
        return rearrange(out, "b h (r c) (i j) d -> b (r i) (c j) (h d)", r=rows, c=cols, i=self.pane, j=self.pane)
