# case: clean_triangle_fill_before_scale expect: clean
# proved: yes
import torch
from torch import nn


class Countdown(nn.Module):
    def __init__(self, width, d):
        super().__init__()
        self.d = d
        self.a, self.b, self.c = nn.Linear(width, d), nn.Linear(width, d), nn.Linear(width, width)

    def forward(self, x):
        n = x.shape[1]
        late = torch.triu(torch.full((n, n), -1e9), 1)
        s = self.a(x) @ self.b(x).transpose(1, 2)
        s = s + late
        s = s / self.d**0.5
        return s.softmax(dim=-1) @ self.c(x)
