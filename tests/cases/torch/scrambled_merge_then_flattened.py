# case: scrambled_merge_then_flattened expect: scrambled-heads line: 17
import torch
from torch import nn


class MergedEarly(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, self.d).permute(2, 0, 3, 1, 4)
        y = torch.softmax(q @ k.transpose(-2, -1) / self.d**0.5, dim=-1) @ v
        y = y.reshape(b, n, c)
        return self.out(y.view(b * n, c)).view(b, n, c)
