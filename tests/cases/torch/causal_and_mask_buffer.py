# case: causal_and_mask_buffer expect: sdpa-causal-and-mask line: 24 alt: 20
import torch
import torch.nn.functional as F
from torch import nn


class KeptMask(nn.Module):
    """A triangular mask is kept in a buffer, and the flag asks for another."""

    def __init__(self, dim, heads, longest):
        super().__init__()
        self.heads = heads
        self.register_buffer("past", torch.ones(longest, longest, dtype=torch.bool).tril())
        self.q, self.k, self.v = (nn.Linear(dim, dim) for _ in range(3))

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (f(x).view(b, n, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        y = F.scaled_dot_product_attention(
            q,
            k,
            v,
            attn_mask=self.past[:n, :n],
            is_causal=True,
        )
        return y.transpose(1, 2).reshape(b, n, c)
