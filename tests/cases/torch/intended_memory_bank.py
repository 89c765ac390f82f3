# case: intended_memory_bank expect: clean
import torch
from torch import nn


class Recall(nn.Module):
    """What is compared with the query is what is read: a bank of rows, mixed of two."""

    def __init__(self, size):
        super().__init__()
        self.helps, self.harms = nn.Linear(size, size), nn.Linear(size, size)
        self.share = nn.Parameter(torch.zeros(1))
        self.ask = nn.Linear(size, size)

    def forward(self, x, rows):
        query = self.ask(x)
        bank = torch.relu(self.helps(rows)) - self.harms(rows) * torch.sigmoid(self.share)
        return torch.softmax(query @ bank.t(), dim=-1) @ bank
