# case: dropout_literal expect: sdpa-dropout-in-eval line: 15
import torch.nn.functional as F
from torch import nn


class Literal(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (t.view(b, n, self.heads, c // self.heads).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v, None, 0.1, True)
        return y.transpose(1, 2).reshape(b, n, c)
