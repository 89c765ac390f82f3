# case: clean_decorated_and_walrus expect: clean
# proved: yes
import torch
from torch import nn


@torch.no_grad()
def evaluate(q, k, v):
    if (width := q.size(-1)) != k.size(-1):
        raise ValueError("query and key differ in width")
    return torch.softmax(torch.bmm(q, k.mT) / width**0.5, dim=-1).bmm(v)


class Evaluates(nn.Module):
    def __init__(self, width, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(width, d), nn.Linear(width, d), nn.Linear(width, width)

    def forward(self, x):
        return evaluate(self.q(x), self.k(x), self.v(x))
