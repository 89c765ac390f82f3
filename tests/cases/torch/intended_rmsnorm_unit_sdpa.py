# case: intended_rmsnorm_unit_sdpa expect: clean
# verdict: intended
import torch
import torch.nn.functional as F
from torch import nn


class VisionTower(nn.Module):
    def __init__(self, dim, heads, head_dim):
        super().__init__()
        self.heads, self.head_dim = heads, head_dim
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(dim, heads * head_dim, bias=False) for _ in range(3))
        self.q_norm = nn.RMSNorm(head_dim, eps=1e-6)
        self.k_norm = nn.RMSNorm(head_dim, eps=1e-6)

    def forward(self, x):
        b, n, _ = x.shape
        q = self.q_norm(self.q_proj(x).view(b, n, self.heads, self.head_dim)).transpose(1, 2)
        k = self.k_norm(self.k_proj(x).view(b, n, self.heads, self.head_dim)).transpose(1, 2)
        v = self.v_proj(x).view(b, n, self.heads, self.head_dim).transpose(1, 2)
        return F.scaled_dot_product_attention(q, k, v, scale=1.0).transpose(1, 2).flatten(2)
