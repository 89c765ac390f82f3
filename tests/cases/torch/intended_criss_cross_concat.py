# case: intended_criss_cross_concat expect: clean
import torch
import torch.nn.functional as F
from torch import nn


class RowAndColumn(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.q, self.k = nn.Conv2d(channels, channels // 8, 1), nn.Conv2d(channels, channels // 8, 1)
        self.v = nn.Conv2d(channels, channels, 1)
        self.gamma = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        h = x.shape[2]
        q, k, v = self.q(x), self.k(x), self.v(x)
        column = torch.einsum("bchw,bciw->bhwi", q, k)
        column = column + torch.diag(torch.full((h,), float("-inf"))).view(1, h, 1, h).nan_to_num(0.0, neginf=-1e9)
        row = torch.einsum("bchw,bchj->bhwj", q, k)
        share = F.softmax(torch.cat([column, row], dim=-1), dim=-1)
        out = torch.einsum("bciw,bhwi->bchw", v, share[..., :h]) + torch.einsum("bchj,bhwj->bchw", v, share[..., h:])
        return self.gamma * out + x
