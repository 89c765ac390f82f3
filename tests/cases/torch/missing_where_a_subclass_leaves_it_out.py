# case: missing_where_a_subclass_leaves_it_out expect: missing-scale line: 9
import torch
from torch import nn


def attend(module, q, k, v):
    # the scale is now applied by what adds the positions
    # scores = scores * module.scaling
    scores = module.add_positions(torch.matmul(q, k.transpose(2, 3)))
    return torch.softmax(scores, dim=-1) @ v


class Base(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.scaling = self.d**-0.5
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def add_positions(self, scores):
        return scores * self.scaling

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (one(x).view(b, t, self.heads, self.d).transpose(1, 2) for one in (self.q, self.k, self.v))
        return attend(self, q, k, v)


class Relative(Base):
    def add_positions(self, scores):
        return scores + 0

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (one(x).view(b, t, self.heads, self.d).transpose(1, 2) for one in (self.q, self.k, self.v))
        return attend(self, q, k, v)
