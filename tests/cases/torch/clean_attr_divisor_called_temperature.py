# case: clean_attr_divisor_called_temperature expect: clean
# proved: yes
import math

import torch
import torch.nn as nn


class PhraseReader(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        assert hidden % heads == 0
        self.heads = heads
        self.size = hidden // heads
        self.temperature = math.sqrt(self.size)
        self.lin_q = nn.Linear(hidden, hidden)
        self.lin_k = nn.Linear(hidden, hidden)
        self.lin_v = nn.Linear(hidden, hidden)

    def split(self, t):
        return t.view(t.size(0), t.size(1), self.heads, self.size).permute(0, 2, 1, 3)

    def forward(self, words, blocked=None):
        q = self.split(self.lin_q(words))
        k = self.split(self.lin_k(words))
        v = self.split(self.lin_v(words))
        score = torch.matmul(q, k.permute(0, 1, 3, 2)) / self.temperature
        if blocked is not None:
            score = score.masked_fill(blocked[:, None, None, :], torch.finfo(score.dtype).min)
        prob = torch.softmax(score, dim=-1)
        return torch.matmul(prob, v).permute(0, 2, 1, 3).reshape(words.shape)
