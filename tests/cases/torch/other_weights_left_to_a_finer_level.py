# case: other_weights_left_to_a_finer_level expect: clean
import torch
from torch import nn


class Coarse(nn.Module):
    """The largest weights are left out here and read at a finer level: a mask that the weights themselves make."""

    def __init__(self, width, heads, count):
        super().__init__()
        self.heads, self.count = heads, count
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (one(x).view(b, t, self.heads, c // self.heads) for one in (self.q, self.k, self.v))
        weights = torch.softmax(torch.einsum("nlhd,nshd->nlsh", q, k) / (c // self.heads) ** 0.5, dim=-2)
        score, index = torch.topk(weights, dim=-2, k=self.count, largest=True)
        mask = torch.ones_like(weights)
        mask = mask.scatter(dim=-2, index=index, src=torch.zeros_like(index).float())
        return torch.einsum("nlsh,nshd->nlhd", weights * mask, v), score, index
