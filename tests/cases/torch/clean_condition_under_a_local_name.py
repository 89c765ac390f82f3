# case: clean_condition_under_a_local_name expect: clean
import torch
from torch import nn


class Attention(nn.Module):
    """`mixed = self.mixed` is one condition with `self.mixed`: no query of one path meets the key of the other."""

    def __init__(self, width, heads, head_dim, mixed=False, share=0.3):
        super().__init__()
        self.heads, self.scale, self.mixed = heads, head_dim**-0.5, mixed
        inner = heads * head_dim
        if self.mixed:
            inner = int(share * inner)
            self.mixing = nn.Parameter(torch.randn(heads, inner))
        self.q, self.k, self.v = nn.Linear(width, inner), nn.Linear(width, inner), nn.Linear(width, heads * head_dim)

    def forward(self, x):
        b, t, h, mixed = x.shape[0], x.shape[1], self.heads, self.mixed
        q, k, v = self.q(x), self.k(x), self.v(x)
        v = v.view(b, t, h, -1).transpose(1, 2)
        if mixed:
            q = torch.einsum("b i d, h d -> b h i d", q, self.mixing)
        else:
            q = q.view(b, t, h, -1).transpose(1, 2)
        k = k.unsqueeze(1).expand(-1, h, -1, -1) if mixed else k.view(b, t, h, -1).transpose(1, 2)
        return torch.softmax(q @ k.transpose(-1, -2) * self.scale, dim=-1) @ v
