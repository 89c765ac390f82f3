# case: other_dropout_by_hand_after_softmax expect: clean
# proved: yes
import torch
from torch import nn


class HandDropout(nn.Module):
    def __init__(self, width, d, p=0.1):
        super().__init__()
        self.d, self.p = d, p
        self.q, self.k, self.v = nn.Linear(width, d), nn.Linear(width, d), nn.Linear(width, width)

    def forward(self, x):
        w = torch.softmax(self.q(x) @ self.k(x).transpose(1, 2) / self.d**0.5, dim=-1)
        if self.training:
            mask = (torch.rand_like(w) > self.p).to(w.dtype)
            w = w * mask / (1 - self.p)
        return w @ self.v(x)
