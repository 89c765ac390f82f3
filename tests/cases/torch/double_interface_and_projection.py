# case: double_interface_and_projection expect: double-scale line: 22 alt: 7,20
import torch
from torch import nn


def eager(module, query, key, value, mask, scaling):
    w = torch.matmul(query, key.transpose(2, 3)) * scaling
    return torch.matmul(nn.functional.softmax(w if mask is None else w + mask, dim=-1), value)


class Refactored(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, embed_dim // num_heads
        self.scaling = self.head_dim**-0.5
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(embed_dim, embed_dim) for _ in range(3))

    def forward(self, x, mask=None):
        shape = (*x.shape[:-1], -1, self.head_dim)
        q = (self.q_proj(x) * self.scaling).view(shape).transpose(1, 2)
        k, v = self.k_proj(x).view(shape).transpose(1, 2), self.v_proj(x).view(shape).transpose(1, 2)
        return eager(self, q, k, v, mask, scaling=self.scaling).transpose(1, 2).flatten(2)
