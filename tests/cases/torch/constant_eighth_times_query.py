# case: constant_eighth_times_query expect: constant-scale line: 14 alt: 18
import torch
from torch import nn


class Eighth(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, embed_dim // num_heads
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(embed_dim, embed_dim) for _ in range(3))

    def forward(self, x):
        b, n, c = x.shape
        q = self.q_proj(x) * 0.125
        q = q.view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.k_proj(x).view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        v = self.v_proj(x).view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        s = torch.matmul(q, k.transpose(-1, -2))
        return torch.matmul(s.softmax(-1), v).transpose(1, 2).reshape(b, n, c)
