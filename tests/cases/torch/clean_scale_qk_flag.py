# case: clean_scale_qk_flag expect: clean
import torch
from torch import nn


class Optional(nn.Module):
    def __init__(self, dim_head, heads, query_dim, scale_qk=True):
        super().__init__()
        self.heads, self.scale_qk = heads, scale_qk
        self.scale = dim_head**-0.5 if scale_qk else 1.0
        inner = dim_head * heads
        self.to_q, self.to_k, self.to_v = (nn.Linear(query_dim, inner, bias=False) for _ in range(3))

    def head_to_batch(self, t):
        b, n, c = t.shape
        return t.reshape(b, n, self.heads, c // self.heads).permute(0, 2, 1, 3).reshape(b * self.heads, n, c // self.heads)

    def forward(self, x):
        q, k, v = (self.head_to_batch(f(x)) for f in (self.to_q, self.to_k, self.to_v))
        probs = (torch.bmm(q, k.transpose(-1, -2)) * self.scale).softmax(dim=-1)
        return torch.bmm(probs, v)
