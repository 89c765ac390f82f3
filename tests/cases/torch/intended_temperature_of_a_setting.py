# case: intended_temperature_of_a_setting expect: clean
"""AdapterFusion: `T` is a configured temperature (50 or 1), annealed at each step; neither 50 nor the unscaled product is a slip."""

import torch
from torch import nn


class Fusion(nn.Module):
    def __init__(self, config, size):
        super().__init__()
        self.config = config
        self.query, self.key, self.value = nn.Linear(size, size), nn.Linear(size, size), nn.Linear(size, size, bias=False)
        if self.config["temperature"]:
            self.T = 50.0
        else:
            self.T = 1.0
        self.step = self.T / 1000.0

    def forward(self, query, key, value):
        q, k, v = self.query(query), self.key(key), self.value(value)
        scores = torch.squeeze(torch.matmul(q.unsqueeze(2), k.transpose(-2, -1)), dim=2)
        weights = nn.Softmax(dim=-1)(scores / self.T)
        self.T = max(self.T - self.step, 1.0)
        return torch.squeeze(torch.matmul(weights.unsqueeze(2), v), dim=2)
