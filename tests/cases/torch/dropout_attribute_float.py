# case: dropout_attribute_float expect: sdpa-dropout-in-eval line: 15
import torch.nn.functional as F
from torch import nn


class AlwaysDrops(nn.Module):
    def __init__(self, dim, heads, dropout=0.1):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout)
        return y.transpose(1, 2).reshape(b, n, c)
