# case: constant_for_other_fixed_head expect: constant-scale line: 18
import torch
from torch import nn

HEADS, HEAD = 6, 32


class WrongConstant(nn.Module):
    """Eight is the root of 64, the heads are 32 wide."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(HEADS * HEAD, HEADS * HEAD) for _ in range(3))

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = (f(x).view(b, n, HEADS, HEAD).transpose(1, 2) for f in (self.q, self.k, self.v))
        w = torch.softmax(torch.matmul(q, k.transpose(-2, -1)) / 8.0, dim=-1)
        return torch.matmul(w, v).transpose(1, 2).flatten(2)
