# case: dropout_zero_attribute_is_harmless expect: clean
# proved: yes
import torch.nn.functional as F
from torch import nn


class NeverDrops(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        return F.scaled_dot_product_attention(q, k, v, dropout_p=0.0).transpose(1, 2).reshape(b, n, c)
