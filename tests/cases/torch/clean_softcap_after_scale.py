# case: clean_softcap_after_scale expect: clean
# proved: yes
import torch
from torch import nn


class CappedVotes(nn.Module):
    def __init__(self, dim, heads, cap=30.0):
        super().__init__()
        self.heads, self.cap = heads, cap
        self.head_dim = dim // heads
        self.qkv = nn.Linear(dim, dim * 3, bias=False)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (t.reshape(b, n, self.heads, self.head_dim).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        w = q @ k.mT * self.head_dim**-0.5
        if self.cap is not None:
            w = w / self.cap
            w = torch.tanh(w)
            w = w * self.cap
        return (w.softmax(-1) @ v).transpose(1, 2).reshape(b, n, c)
