# case: wrongdim_buffer expect: wrong-dim-scale line: 10 alt: 16
import torch
from torch import nn


class Buffered(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.register_buffer("root", torch.sqrt(torch.tensor(float(dim))))
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        s = q @ k.transpose(-2, -1) / self.root
        return (s.softmax(-1) @ v).transpose(1, 2).reshape(b, n, c)
