# case: intended_scaling_one_named expect: clean
# verdict: intended
import torch
from torch import nn


def plain(module, query, key, value, mask, scaling):
    w = torch.matmul(query, key.transpose(2, 3)) * scaling
    w = nn.functional.softmax(w if mask is None else w + mask, dim=-1)
    return torch.matmul(w, value)


class UnscaledByDesign(nn.Module):
    """The checkpoints were trained without the division, so the factor is one."""

    scaling = 1.0

    def __init__(self, hidden, heads):
        super().__init__()
        self.heads, self.head_dim = heads, hidden // heads
        self.k_proj = nn.Linear(hidden, hidden, bias=False)
        self.v_proj = nn.Linear(hidden, hidden, bias=False)
        self.q_proj = nn.Linear(hidden, hidden, bias=False)

    def forward(self, x, mask=None):
        shape = (*x.shape[:-1], self.heads, self.head_dim)
        q = self.q_proj(x).view(shape).transpose(1, 2).to(torch.float32)
        k = self.k_proj(x).view(shape).transpose(1, 2).to(torch.float32)
        v = self.v_proj(x).view(shape).transpose(1, 2)
        return plain(self, q, k, v, mask, scaling=self.scaling)
