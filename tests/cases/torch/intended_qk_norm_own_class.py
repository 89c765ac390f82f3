# case: intended_qk_norm_own_class expect: clean
# verdict: intended
import torch
import torch.nn.functional as F
from einops import rearrange
from torch import nn


class PerHeadNorm(nn.Module):
    def __init__(self, heads, dim):
        super().__init__()
        self.root = dim**0.5
        self.gain = nn.Parameter(torch.ones(heads, 1, dim))

    def forward(self, x):
        return F.normalize(x, dim=-1) * self.root * self.gain


class Normed(nn.Module):
    def __init__(self, dim, heads=4, dim_head=16):
        super().__init__()
        self.heads = heads
        self.q_norm, self.k_norm = PerHeadNorm(heads, dim_head), PerHeadNorm(heads, dim_head)
        self.to_qkv = nn.Linear(dim, heads * dim_head * 3, bias=False)
        self.attend = nn.Softmax(dim=-1)

    def forward(self, x):
        qkv = self.to_qkv(x).chunk(3, dim=-1)
        q, k, v = map(lambda t: rearrange(t, "b n (h d) -> b h n d", h=self.heads), qkv)
        q, k = self.q_norm(q), self.k_norm(k)
        dots = torch.matmul(q, k.transpose(-1, -2))
        return rearrange(self.attend(dots) @ v, "b h n d -> b n (h d)")
