# case: intended_sdpa_scale_one_written_out expect: clean
import torch
import torch.nn.functional as F
from torch import nn


class Rail(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, scale=1)
        return self.out(y.transpose(1, 2).reshape(b, n, c))
