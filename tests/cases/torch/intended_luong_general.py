# case: intended_luong_general expect: clean
# verdict: intended
import torch
import torch.nn.functional as F
from torch import nn


class Bilinear(nn.Module):
    """score(h, s) = h W s, the context is read from the untouched source states."""

    def __init__(self, hidden, source):
        super().__init__()
        self.into_source = nn.Linear(hidden, source, bias=False)
        self.out = nn.Linear(hidden + source, hidden, bias=False)

    def forward(self, state, memory, pad):
        scores = torch.bmm(self.into_source(state), memory.transpose(1, 2))
        scores = scores.masked_fill(pad.unsqueeze(1), float("-inf"))
        weights = F.softmax(scores, dim=-1)
        context = torch.bmm(weights, memory)
        return torch.tanh(self.out(torch.cat((context, state), dim=-1))), weights
