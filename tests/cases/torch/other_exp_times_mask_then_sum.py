# case: other_exp_times_mask_then_sum expect: clean
import torch
from torch import nn


class MaskedByHand(nn.Module):
    """The 0/1 mask multiplies the exponentials, and the sum is taken after it: rows add up to one."""

    def __init__(self, width, d):
        super().__init__()
        self.d = d
        self.q, self.k, self.v = nn.Linear(width, d), nn.Linear(width, d), nn.Linear(width, width)

    def forward(self, x, keep):
        s = self.q(x) @ self.k(x).transpose(1, 2) / self.d**0.5
        e = torch.exp(s - s.amax(dim=-1, keepdim=True)) * keep[:, None, :]
        return e / e.sum(dim=-1, keepdim=True).clamp(min=1e-9) @ self.v(x)
