# case: missing_one_of_two_attentions expect: missing-scale line: 18 alt: 19
import math

import torch
from torch import nn


class Decoder(nn.Module):
    def __init__(self, width, d):
        super().__init__()
        self.d = d
        self.sq, self.sk, self.sv = nn.Linear(width, d), nn.Linear(width, d), nn.Linear(width, width)
        self.cq, self.ck, self.cv = nn.Linear(width, d), nn.Linear(width, d), nn.Linear(width, width)

    def forward(self, x, memory):
        s = self.sq(x) @ self.sk(x).transpose(1, 2) / math.sqrt(self.d)
        x = x + torch.softmax(s, dim=-1) @ self.sv(x)
        c = self.cq(x) @ self.ck(memory).transpose(1, 2)
        return x + torch.softmax(c, dim=-1) @ self.cv(memory)
