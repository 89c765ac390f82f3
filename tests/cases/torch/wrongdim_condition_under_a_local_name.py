# case: wrongdim_condition_under_a_local_name expect: wrong-dim-scale line: 11
import torch
from torch import nn


class Attention(nn.Module):
    """The root of all heads, on the path where they are split and the one where they are not."""

    def __init__(self, width, heads, head_dim, shared=False):
        super().__init__()
        self.heads, self.shared, self.scale = heads, shared, (heads * head_dim) ** -0.5
        self.q = nn.Linear(width, heads * head_dim)
        self.k, self.v = nn.Linear(width, heads * head_dim), nn.Linear(width, heads * head_dim)

    def forward(self, x):
        b, t, h, shared = x.shape[0], x.shape[1], self.heads, self.shared
        q, k, v = self.q(x), self.k(x), self.v(x)
        q, v = q.view(b, t, h, -1).transpose(1, 2), v.view(b, t, h, -1).transpose(1, 2)
        if shared:
            q = q.contiguous()
        k = k.view(b, t, h, -1).transpose(1, 2)
        if shared:
            k = k.contiguous()
        return torch.softmax(q @ k.transpose(-1, -2) * self.scale, dim=-1) @ v
