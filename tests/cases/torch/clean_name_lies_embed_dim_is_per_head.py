# case: clean_name_lies_embed_dim_is_per_head expect: clean
# proved: yes
import math

import torch
from torch import nn


class Turnstile(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.embed_dim = d_model // num_heads  # what one head embeds into
        self.wq = nn.Linear(d_model, num_heads * self.embed_dim)
        self.wk = nn.Linear(d_model, num_heads * self.embed_dim)
        self.wv = nn.Linear(d_model, num_heads * self.embed_dim)

    def forward(self, x):
        b, n, _ = x.size()
        q = self.wq(x).reshape(b, n, self.num_heads, self.embed_dim).transpose(1, 2)
        k = self.wk(x).reshape(b, n, self.num_heads, self.embed_dim).transpose(1, 2)
        v = self.wv(x).reshape(b, n, self.num_heads, self.embed_dim).transpose(1, 2)
        s = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(self.embed_dim)
        return torch.matmul(nn.functional.softmax(s, dim=-1), v).transpose(1, 2).reshape(b, n, -1)
