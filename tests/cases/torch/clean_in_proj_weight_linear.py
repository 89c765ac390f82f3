# case: clean_in_proj_weight_linear expect: clean
# proved: yes
import torch
import torch.nn.functional as F
from torch import nn


class PackedWeights(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, embed_dim // num_heads
        self.scale = self.head_dim**-0.5
        self.in_proj_weight = nn.Parameter(torch.randn(3 * embed_dim, embed_dim))
        self.in_proj_bias = nn.Parameter(torch.zeros(3 * embed_dim))

    def forward(self, x):
        L, N, C = x.shape
        q, k, v = F.linear(x, self.in_proj_weight, self.in_proj_bias).chunk(3, dim=-1)
        q = q.contiguous().view(L, N * self.num_heads, -1).transpose(0, 1)
        k = k.contiguous().view(L, N * self.num_heads, -1).transpose(0, 1)
        v = v.contiguous().view(L, N * self.num_heads, -1).transpose(0, 1)
        q = q * self.scale
        attn = torch.bmm(q, k.transpose(-1, -2)).softmax(dim=-1)
        return torch.bmm(attn, v).transpose(0, 1).reshape(L, N, C)
