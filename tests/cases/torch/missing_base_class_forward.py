# case: missing_base_class_forward expect: missing-scale line: 8 alt: 9,21
import torch
from torch import nn


class Scorer(nn.Module):
    def weigh(self, q, k, v):
        logits = torch.matmul(q, k.transpose(-1, -2))
        return torch.matmul(logits.softmax(dim=-1), v)


class LetterScorer(Scorer):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.maps = nn.ModuleList(nn.Linear(width, width) for _ in range(3))

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (m(x).view(b, n, self.heads, c // self.heads).transpose(1, 2) for m in self.maps)
        return self.weigh(q, k, v).transpose(1, 2).flatten(2)
