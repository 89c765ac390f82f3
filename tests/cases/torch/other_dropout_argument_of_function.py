# case: other_dropout_argument_of_function expect: clean
# proved: yes
import torch.nn.functional as F
from torch import nn


def attend(q, k, v, dropout_p=0.0):
    """Whoever calls decides; a function has no mode."""
    return F.scaled_dot_product_attention(q, k, v, dropout_p=dropout_p)


class Decides(nn.Module):
    def __init__(self, dim, heads, p=0.1):
        super().__init__()
        self.heads, self.p = heads, p
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        return attend(q, k, v, self.p if self.training else 0.0).transpose(1, 2).reshape(b, n, c)
