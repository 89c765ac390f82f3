# case: other_dropout_cleared_by_statement expect: clean
# proved: yes
import torch.nn.functional as F
from torch import nn


class Cleared(nn.Module):
    def __init__(self, dim, heads, p=0.1):
        super().__init__()
        self.heads, self.p = heads, p
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        p = self.p
        if not self.training:
            p = 0.0
        return F.scaled_dot_product_attention(q, k, v, dropout_p=p).transpose(1, 2).reshape(b, n, c)
