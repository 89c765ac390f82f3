# case: bias_embedding_scaled_along expect: scaled-mask-or-bias line: 20
import math

import torch
from torch import nn


class DistanceFirst(nn.Module):
    def __init__(self, width, heads, reach):
        super().__init__()
        self.heads, self.d, self.reach = heads, width // heads, reach
        self.distance = nn.Embedding(2 * reach + 1, heads)
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (f(x).view(b, n, self.heads, self.d).transpose(1, 2) for f in (self.q, self.k, self.v))
        at = torch.arange(n)
        bias = self.distance((at[None] - at[:, None]).clamp(-self.reach, self.reach) + self.reach).permute(2, 0, 1)
        scores = (torch.matmul(q, k.transpose(-1, -2)) + bias) / math.sqrt(self.d)
        return torch.matmul(torch.softmax(scores, dim=-1), v).transpose(1, 2).reshape(b, n, c)
