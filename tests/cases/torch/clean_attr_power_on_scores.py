# case: clean_attr_power_on_scores expect: clean
# proved: yes
import torch
from torch import nn


class StationMixer(nn.Module):
    """Every weather station reads from every other one."""

    def __init__(self, width, n_heads=4):
        super().__init__()
        self.n_heads = n_heads
        self.per_head = width // n_heads
        self.factor = self.per_head ** -0.5
        self.ask = nn.Linear(width, width)
        self.offer = nn.Linear(width, width)
        self.give = nn.Linear(width, width)

    def forward(self, stations):
        batch, count, _ = stations.shape
        ask = self.ask(stations).view(batch, count, self.n_heads, self.per_head).transpose(1, 2)
        offer = self.offer(stations).view(batch, count, self.n_heads, self.per_head).transpose(1, 2)
        give = self.give(stations).view(batch, count, self.n_heads, self.per_head).transpose(1, 2)
        logits = ask @ offer.transpose(-2, -1) * self.factor
        return (logits.softmax(dim=-1) @ give).transpose(1, 2).flatten(2)
