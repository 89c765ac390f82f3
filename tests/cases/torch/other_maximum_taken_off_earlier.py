# case: other_maximum_taken_off_earlier expect: clean
# proved: yes
import torch
from torch import nn


class Early(nn.Module):
    def __init__(self, width, d):
        super().__init__()
        self.d = d
        self.q, self.k, self.v = nn.Linear(width, d), nn.Linear(width, d), nn.Linear(width, width)

    def forward(self, x, keep=None):
        logits = self.q(x) @ self.k(x).transpose(1, 2) * self.d**-0.5
        if keep is not None:
            logits = logits.masked_fill(~keep, -1e9)
        highest, _ = torch.max(logits, dim=-1, keepdim=True)
        logits = logits - highest.detach()
        e = torch.exp(logits)
        total = torch.sum(e, dim=-1, keepdim=True)
        return torch.div(e, total) @ self.v(x)
