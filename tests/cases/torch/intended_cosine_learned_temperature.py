# case: intended_cosine_learned_temperature expect: clean
# verdict: intended
import torch
import torch.nn.functional as F
from torch import nn


class CosineTiles(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.temperature = nn.Parameter(torch.ones(heads, 1, 1))
        self.qkv = nn.Linear(dim, dim * 3)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 4, 1)
        q = F.normalize(q, dim=-1)
        k = F.normalize(k, dim=-1)
        attn = (q @ k.transpose(-2, -1)) * self.temperature
        return (attn.softmax(dim=-1) @ v).permute(0, 3, 1, 2).reshape(b, n, c)
