# case: clean_three_logit_terms expect: clean
import torch
from torch import nn


class PointsAndScalars(nn.Module):
    """Scalars, points and pairs give a logit each; every one carries a third of the variance."""

    def __init__(self, width, heads, d, points):
        super().__init__()
        self.heads, self.d, self.points = heads, d, points
        self.q, self.k, self.v = (nn.Linear(width, heads * d) for _ in range(3))
        self.qp, self.kp = nn.Linear(width, heads * points * 3), nn.Linear(width, heads * points * 3)
        self.pair = nn.Linear(width, heads)

    def forward(self, x, pairs):
        b, n, _ = x.shape
        q, k, v = (f(x).view(b, n, self.heads, self.d) for f in (self.q, self.k, self.v))
        qp, kp = (f(x).view(b, n, self.heads, self.points, 3) for f in (self.qp, self.kp))
        logits = torch.einsum("bihd,bjhd->bhij", q, k) * (1.0 / (3 * self.d)) ** 0.5
        gap = ((qp[:, :, None] - kp[:, None]) ** 2).sum(dim=(-1, -2)).permute(0, 3, 1, 2)
        logits = logits - 0.5 * (1.0 / (3 * self.points * 4.5)) ** 0.5 * gap
        logits = logits + (1 / 3) ** 0.5 * self.pair(pairs).permute(0, 3, 1, 2)
        return torch.einsum("bhij,bjhd->bihd", logits.softmax(dim=-1), v).flatten(2)
