# case: clean_prescale_then_unit_scaling expect: clean
# proved: yes
import torch
from torch import nn


def run_attention(module, query, key, value, mask, scaling):
    scores = torch.matmul(query, key.transpose(-1, -2)) * scaling
    if mask is not None:
        scores = scores + mask
    return torch.matmul(nn.functional.softmax(scores, dim=-1), value)


class Voices(nn.Module):
    """The projection already carries the factor, so the interface gets one."""

    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, embed_dim // num_heads
        self.scaling = self.head_dim**-0.5
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(embed_dim, embed_dim) for _ in range(3))

    def forward(self, x, mask=None):
        b, n, _ = x.shape
        q = self.q_proj(x) * self.scaling
        q = q.view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.k_proj(x).view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        v = self.v_proj(x).view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        return run_attention(self, q, k, v, mask, scaling=1.0).transpose(1, 2).flatten(2)
