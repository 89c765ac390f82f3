# case: clean_landmarks expect: clean
# proved: yes
import math

import torch
from torch import nn


class Landmarks(nn.Module):
    def __init__(self, width, heads, landmarks, length):
        super().__init__()
        self.heads, self.d, self.landmarks, self.length = heads, width // heads, landmarks, length
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x):
        b, _, _ = x.shape
        q = self.q(x).view(b, -1, self.heads, self.d).transpose(1, 2) / math.sqrt(math.sqrt(self.d))
        k = self.k(x).view(b, -1, self.heads, self.d).transpose(1, 2) / math.sqrt(math.sqrt(self.d))
        v = self.v(x).view(b, -1, self.heads, self.d).transpose(1, 2)
        q_marks = q.reshape(-1, self.heads, self.landmarks, self.length // self.landmarks, self.d).mean(dim=-2)
        k_marks = k.reshape(-1, self.heads, self.landmarks, self.length // self.landmarks, self.d).mean(dim=-2)
        to_marks = torch.softmax(q @ k_marks.transpose(-1, -2), dim=-1)
        among_marks = torch.softmax(q_marks @ k_marks.transpose(-1, -2), dim=-1)
        from_marks = torch.softmax(q_marks @ k.transpose(-1, -2), dim=-1)
        return to_marks @ (among_marks @ (from_marks @ v))
