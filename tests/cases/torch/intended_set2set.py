# case: intended_set2set expect: clean
import torch
from torch import nn


class SetReader(nn.Module):
    def __init__(self, width, steps):
        super().__init__()
        self.steps = steps
        self.lstm = nn.LSTMCell(2 * width, width)

    def forward(self, items):
        b, _, d = items.shape
        star = items.new_zeros(b, 2 * d)
        state = (items.new_zeros(b, d), items.new_zeros(b, d))
        for _ in range(self.steps):
            state = self.lstm(star, state)
            q = state[0]
            e = (items * q.unsqueeze(1)).sum(dim=-1, keepdim=True)
            a = torch.softmax(e, dim=1)
            star = torch.cat([q, (a * items).sum(dim=1)], dim=-1)
        return star
