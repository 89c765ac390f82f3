# case: mixed_double_and_dropout expect: double-scale line: 17 alt: 16
# case: mixed_double_and_dropout expect: sdpa-dropout-in-eval line: 17
import torch.nn.functional as F
from torch import nn


class DoubleDrop(nn.Module):
    def __init__(self, dim, heads, p=0.1):
        super().__init__()
        self.heads, self.d, self.p = heads, dim // heads, p
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, self.d).permute(2, 0, 3, 1, 4)
        q = q * self.d**-0.5
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.p)
        return y.transpose(1, 2).reshape(b, n, c)
