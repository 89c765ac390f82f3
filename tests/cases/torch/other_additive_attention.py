# case: other_additive_attention expect: clean
import torch
from torch import nn


class Concat(nn.Module):
    def __init__(self, dec, enc, hidden):
        super().__init__()
        self.W1, self.W2, self.v = nn.Linear(dec, hidden), nn.Linear(enc, hidden), nn.Linear(hidden, 1, bias=False)

    def forward(self, state, memory):
        energy = self.v(torch.tanh(self.W1(state).unsqueeze(2) + self.W2(memory).unsqueeze(1))).squeeze(-1)
        return torch.bmm(torch.softmax(energy, dim=-1), memory)
