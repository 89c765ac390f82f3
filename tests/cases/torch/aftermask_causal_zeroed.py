# case: aftermask_causal_zeroed expect: mask-after-softmax line: 18
import torch
from torch import nn


class Peeking(nn.Module):
    """The future takes part in the sum and is then set to zero: the rows do not add up to one."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, self.d).permute(2, 0, 3, 1, 4)
        p = torch.softmax(q @ k.transpose(-1, -2) / self.d**0.5, dim=-1)
        p = torch.tril(p)
        return (p @ v).transpose(1, 2).reshape(b, n, c)
