# case: dropout_module_p expect: sdpa-dropout-in-eval line: 16
import torch.nn.functional as F
from torch import nn


class ModuleP(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.attn_drop = nn.Dropout(0.2)
        self.q, self.k, self.v = (nn.Linear(dim, dim) for _ in range(3))

    def forward(self, x, mask=None):
        b, n, c = x.shape
        q, k, v = (f(x).view(b, n, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=self.attn_drop.p)
        return y.transpose(1, 2).reshape(b, n, c)
