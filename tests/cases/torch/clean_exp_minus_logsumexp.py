# case: clean_exp_minus_logsumexp expect: clean
# proved: yes
import torch
from torch import nn


class LogSpace(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.depth = depth
        self.ask, self.tell = nn.Linear(width, depth), nn.Linear(width, depth)
        self.carry = nn.Linear(width, width)

    def forward(self, x, keep=None):
        dots = torch.matmul(self.ask(x), self.tell(x).transpose(-1, -2)) / self.depth**0.5
        if keep is not None:
            dots = torch.where(keep, dots, torch.full_like(dots, -1e9))
        share = torch.exp(dots - torch.logsumexp(dots, dim=-1, keepdim=True))
        return torch.matmul(share, self.carry(x))
