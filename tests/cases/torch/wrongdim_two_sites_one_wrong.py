# case: wrongdim_two_sites_one_wrong expect: wrong-dim-scale line: 24
import math

import torch
from torch import nn


class Encoder(nn.Module):
    """Self-attention is right, cross-attention takes the root of the width."""

    def __init__(self, width, heads):
        super().__init__()
        self.width, self.heads, self.d = width, heads, width // heads
        self.sq, self.sk, self.sv = (nn.Linear(width, width) for _ in range(3))
        self.cq, self.ck, self.cv = (nn.Linear(width, width) for _ in range(3))

    def cut(self, t):
        return t.view(*t.shape[:2], self.heads, self.d).transpose(1, 2)

    def forward(self, x, memory):
        q, k, v = self.cut(self.sq(x)), self.cut(self.sk(x)), self.cut(self.sv(x))
        x = x + (torch.softmax(q @ k.mT / math.sqrt(self.d), -1) @ v).transpose(1, 2).flatten(2)
        q, k, v = self.cut(self.cq(x)), self.cut(self.ck(memory)), self.cut(self.cv(memory))
        return x + (torch.softmax(q @ k.mT / math.sqrt(self.width), -1) @ v).transpose(1, 2).flatten(2)
