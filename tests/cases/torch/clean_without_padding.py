# case: clean_without_padding expect: clean
# proved: yes
import math

from einops import rearrange
from flash_attn import bert_padding, flash_attn_varlen_func
from torch import nn


class Packed(nn.Module):
    def __init__(self, dim, heads, qk_norm=False):
        super().__init__()
        self.dim, self.heads, self.qk_norm = dim, heads, qk_norm
        self.scale = 1 / math.sqrt(dim / heads)
        self.qkv = nn.Linear(dim, 3 * dim)
        if qk_norm:
            self.q_norm, self.k_norm = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, x, keep):
        batch, length = x.shape[:2]
        q, k, v = self.qkv(x).chunk(3, dim=2)
        if self.qk_norm:
            q, k = self.q_norm(q), self.k_norm(k)
        q, where, bounds, longest, *_ = bert_padding.unpad_input(q, keep)
        k, v = (bert_padding.index_first_axis(rearrange(t, "b n e -> (b n) e"), where) for t in (k, v))
        q, k, v = (rearrange(t, "n (h d) -> n h d", h=self.heads) for t in (q, k, v))
        out = flash_attn_varlen_func(q, k, v, bounds, bounds, longest, longest, softmax_scale=self.scale)
        return bert_padding.pad_input(rearrange(out, "n h d -> n (h d)"), where, batch, length)
