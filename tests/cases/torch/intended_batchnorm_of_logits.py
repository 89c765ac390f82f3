# case: intended_batchnorm_of_logits expect: clean
# verdict: intended
import torch
from torch import nn


class NormedLogits(nn.Module):
    """The logits are normalised by statistics of the batch, so no root is taken."""

    def __init__(self, planes, heads):
        super().__init__()
        self.heads, self.size = heads, planes // heads
        self.qkv = nn.Conv1d(planes, 3 * planes, 1, bias=False)
        self.bn_similarity = nn.BatchNorm2d(heads)

    def forward(self, x):
        n, _, t = x.shape
        q, k, v = self.qkv(x).reshape(n, self.heads, 3 * self.size, t).split(self.size, dim=2)
        qk = torch.einsum("bgci,bgcj->bgij", q, k)
        weights = torch.softmax(self.bn_similarity(qk), dim=3)
        return torch.einsum("bgij,bgcj->bgci", weights, v).reshape(n, -1, t)
