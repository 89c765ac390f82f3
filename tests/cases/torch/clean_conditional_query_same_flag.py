# case: clean_conditional_query_same_flag expect: clean
# proved: yes
import math

import torch
from torch import nn


class Switchboard(nn.Module):
    def __init__(self, n_head, n_feat, use_sdpa):
        super().__init__()
        self.h, self.d_k, self.use_sdpa = n_head, n_feat // n_head, use_sdpa
        self.inv_sqrt_d_k = 1.0 / math.sqrt(self.d_k)
        self.linear_q = nn.Linear(n_feat, n_feat)
        self.linear_k = nn.Linear(n_feat, n_feat)
        self.linear_v = nn.Linear(n_feat, n_feat)

    def forward(self, query, memory):
        n = query.size(0)
        q = self.linear_q(query).view(n, -1, self.h, self.d_k)
        k = self.linear_k(memory).view(n, -1, self.h, self.d_k).transpose(1, 2)
        v = self.linear_v(memory).view(n, -1, self.h, self.d_k).transpose(1, 2)
        q = q.transpose(1, 2) if self.use_sdpa else q.transpose(1, 2) * self.inv_sqrt_d_k
        if self.use_sdpa:
            x = nn.functional.scaled_dot_product_attention(q, k, v)
        else:
            x = torch.softmax(torch.matmul(q, k.transpose(-2, -1)), dim=-1) @ v
        return x.transpose(1, 2).contiguous().view(n, -1, self.h * self.d_k)
