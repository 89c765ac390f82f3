# case: missing_plain_heads expect: missing-scale line: 17 alt: 18
import torch
from torch import nn


class Greenhouse(nn.Module):
    def __init__(self, width, beds):
        super().__init__()
        self.beds, self.bed = beds, width // beds
        self.light, self.water, self.soil = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        b, n, c = x.shape
        q = self.light(x).view(b, n, self.beds, self.bed).transpose(1, 2)
        k = self.water(x).view(b, n, self.beds, self.bed).transpose(1, 2)
        v = self.soil(x).view(b, n, self.beds, self.bed).transpose(1, 2)
        growth = torch.matmul(q, k.transpose(-2, -1))
        share = torch.softmax(growth, dim=-1)
        return torch.matmul(share, v).transpose(1, 2).reshape(b, n, c)
