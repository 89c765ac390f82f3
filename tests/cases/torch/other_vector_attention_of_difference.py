# case: other_vector_attention_of_difference expect: clean
import torch
from torch import nn


class CloudLayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(dim, dim, bias=False) for _ in range(3))
        self.position = nn.Sequential(nn.Linear(3, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.weigh = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))

    def forward(self, x, at):
        rel = self.position(at[:, :, None] - at[:, None])
        pair = self.q(x)[:, :, None] - self.k(x)[:, None]
        sim = self.weigh(pair + rel).softmax(dim=-2)
        return torch.einsum("bijd,bijd->bid", sim, self.v(x)[:, None] + rel)
