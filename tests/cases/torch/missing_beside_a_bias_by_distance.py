# case: missing_beside_a_bias_by_distance expect: missing-scale line: 23
import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.head_dim = heads, dim // heads
        self.q = nn.Linear(dim, dim, bias=False)
        self.k = nn.Linear(dim, dim, bias=False)
        self.v = nn.Linear(dim, dim, bias=False)

    def forward(self, x, mask=None, bias=None):
        b, n, c = x.size(0), self.heads, self.head_dim
        q, k, v = self.q(x).view(b, -1, n, c), self.k(x).view(b, -1, n, c), self.v(x).view(b, -1, n, c)
        added = x.new_zeros(b, n, q.size(1), k.size(1))
        if bias is not None:
            added += bias
        if mask is not None:
            added.masked_fill_(mask == 0, torch.finfo(x.dtype).min)
        scores = torch.einsum("binc,bjnc->bnij", q, k) + added
        return torch.einsum("bnij,bjnc->binc", F.softmax(scores.float(), dim=-1), v)


class Positions(nn.Module):
    """What is added to the scores, by the bucket of the distance."""

    def __init__(self, buckets, heads):
        super().__init__()
        self.buckets = buckets
        self.embedding = nn.Embedding(buckets, heads)

    def forward(self, length):
        places = torch.arange(length)
        buckets = self._near(places[None, :] - places[:, None])
        return self.embedding(buckets).permute(2, 0, 1).unsqueeze(0)

    def _near(self, distances):
        return distances.abs().clamp(max=self.buckets - 1)
