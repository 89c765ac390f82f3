# case: intended_normalised_times_root expect: clean
# verdict: intended
import torch
import torch.nn.functional as F
from torch import nn


class HypersphereAttention(nn.Module):
    """Unit queries and keys: their product has variance 1/d, so the root multiplies."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.scale = self.d**0.5
        self.q, self.k, self.v = (nn.Linear(width, width, bias=False) for _ in range(3))

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (f(x).view(b, n, self.heads, self.d).transpose(1, 2) for f in (self.q, self.k, self.v))
        q = q / q.norm(dim=-1, keepdim=True)
        k = k / k.norm(dim=-1, keepdim=True)
        s = torch.matmul(q, k.transpose(-1, -2)) * self.scale
        return (F.softmax(s, dim=-1) @ v).transpose(1, 2).reshape(b, n, c)
