# case: clean_separate_heads_helper_downsampled expect: clean
# proved: yes
import math

import torch
from torch import nn


class PointToMask(nn.Module):
    def __init__(self, embedding_dim, num_heads, downsample_rate=1):
        super().__init__()
        self.internal_dim = embedding_dim // downsample_rate
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embedding_dim, self.internal_dim)
        self.k_proj = nn.Linear(embedding_dim, self.internal_dim)
        self.v_proj = nn.Linear(embedding_dim, self.internal_dim)

    @staticmethod
    def apart(x, num_heads):
        b, n, c = x.shape
        return x.reshape(b, n, num_heads, c // num_heads).transpose(1, 2)

    @staticmethod
    def together(x):
        b, heads, n, c = x.shape
        return x.transpose(1, 2).reshape(b, n, heads * c)

    def forward(self, q, k, v):
        q = self.apart(self.q_proj(q), self.num_heads)
        k = self.apart(self.k_proj(k), self.num_heads)
        v = self.apart(self.v_proj(v), self.num_heads)
        _, _, _, per_head = q.shape
        attn = q @ k.permute(0, 1, 3, 2)
        attn = attn / math.sqrt(per_head)
        return self.together(torch.softmax(attn, dim=-1) @ v)
