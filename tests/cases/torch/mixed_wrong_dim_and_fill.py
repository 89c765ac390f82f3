# case: mixed_wrong_dim_and_fill expect: wrong-dim-scale line: 16
# case: mixed_wrong_dim_and_fill expect: multiplicative-mask line: 18
import torch
from torch import nn


class TwoFaults(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.width, self.heads, self.d = width, heads, width // heads
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x, mask=None):
        b, n, c = x.shape
        q, k, v = (f(x).view(b, n, self.heads, self.d).transpose(1, 2) for f in (self.q, self.k, self.v))
        s = torch.matmul(q, k.transpose(-2, -1)) / self.width**0.5
        if mask is not None:
            s = s.masked_fill(mask == 0, 1e-10)
        return torch.matmul(torch.softmax(s, dim=-1), v).transpose(1, 2).reshape(b, n, c)
