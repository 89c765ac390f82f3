# case: clean_heads_split_by_the_kernel expect: clean
"""A kernel that is told how many heads there are gets them unsplit: it sums over one head's share, which is what the root is of."""

import math

from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads, kv_heads, head_dim, attend):
        super().__init__()
        self.heads, self.kv_heads, self.attend = heads, kv_heads, attend
        self.softmax_scale = 1 / math.sqrt(head_dim)
        self.q = nn.Linear(width, heads * head_dim)
        self.k = nn.Linear(width, kv_heads * head_dim)
        self.v = nn.Linear(width, kv_heads * head_dim)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.q(x), self.k(x), self.v(x)
        return self.attend(q, k, v, n_heads=self.heads, kv_n_heads=self.kv_heads, softmax_scale=self.softmax_scale)
