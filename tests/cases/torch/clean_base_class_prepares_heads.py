# case: clean_base_class_prepares_heads expect: clean
# proved: yes
import math

import torch
from torch import nn


class HeadedBase(nn.Module):
    def __init__(self, n_head, n_feat):
        super().__init__()
        assert n_feat % n_head == 0
        self.d_k = n_feat // n_head
        self.h = n_head
        self.linear_q = nn.Linear(n_feat, n_feat)
        self.linear_k = nn.Linear(n_feat, n_feat)
        self.linear_v = nn.Linear(n_feat, n_feat)
        self.linear_out = nn.Linear(n_feat, n_feat)

    def project(self, query, key, value):
        batch = query.size(0)
        q = self.linear_q(query).view(batch, -1, self.h, self.d_k).transpose(1, 2)
        k = self.linear_k(key).view(batch, -1, self.h, self.d_k).transpose(1, 2)
        v = self.linear_v(value).view(batch, -1, self.h, self.d_k).transpose(1, 2)
        return q, k, v

    def mix(self, value, scores, mask):
        batch = value.size(0)
        if mask is not None:
            hidden = mask.unsqueeze(1).eq(0)
            scores = scores.masked_fill(hidden, float("-inf"))
            weights = torch.softmax(scores, dim=-1).masked_fill(hidden, 0.0)
        else:
            weights = torch.softmax(scores, dim=-1)
        mixed = torch.matmul(weights, value)
        return self.linear_out(mixed.transpose(1, 2).contiguous().view(batch, -1, self.h * self.d_k))


class PlainHeads(HeadedBase):
    def forward(self, query, key, value, mask=None):
        q, k, v = self.project(query, key, value)
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(self.d_k)
        return self.mix(v, scores, mask)
