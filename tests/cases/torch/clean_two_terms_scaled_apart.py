# case: clean_two_terms_scaled_apart expect: clean
# proved: yes
import math

import torch
from torch import nn


class Melody(nn.Module):
    def __init__(self, hidden, heads, reach):
        super().__init__()
        self.heads, self.size, self.reach = heads, hidden // heads, reach
        self.linear_q, self.linear_k, self.linear_v = (nn.Linear(hidden, hidden) for _ in range(3))
        self.distance = nn.Embedding(2 * reach + 1, self.size)

    def forward(self, x):
        b, n, _ = x.shape
        q = self.linear_q(x).view(b, -1, self.heads, self.size).transpose(1, 2)
        k = self.linear_k(x).view(b, -1, self.heads, self.size).transpose(1, 2)
        v = self.linear_v(x).view(b, -1, self.heads, self.size).transpose(1, 2)
        weights = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(self.size)
        steps = torch.arange(n)
        table = self.distance((steps[None] - steps[:, None]).clamp(-self.reach, self.reach) + self.reach)
        relative = torch.einsum("bhld,lrd->bhlr", q, table)
        weights = weights + (relative / math.sqrt(self.size))
        return torch.matmul(torch.softmax(weights, dim=-1), v).transpose(1, 2).reshape(b, n, -1)
