# case: clean_anchors_picked expect: clean
import torch
import torch.nn.functional as F
from torch import nn


class Anchors(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.head_dim = heads, width // heads
        self.scale = self.head_dim**-0.5
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor, anchors: torch.Tensor):
        b, n, c = x.shape
        count = anchors.shape[0]
        q = self.q(x).reshape(b, n, self.heads, self.head_dim)
        k = self.k(x).reshape(b, n, self.heads, self.head_dim)[:, anchors]
        v = self.v(x).reshape(b, n, self.heads, self.head_dim)[:, anchors]
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        scores = torch.matmul(q, k.transpose(-2, -1)) * self.scale
        far = anchors.view(1, 1, 1, count) > torch.arange(n).view(1, 1, n, 1)
        return torch.matmul(F.softmax(scores.masked_fill(far, float("-inf")), dim=-1), v).transpose(1, 2).reshape(b, n, c)
