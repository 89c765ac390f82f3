# case: wrongdim_spatial_positions expect: wrong-dim-scale line: 16
import torch
import torch.nn.functional as F
from torch import nn


class Grid(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.q, self.k, self.v = (nn.Conv2d(ch, ch // 2, 1) for _ in range(3))
        self.back = nn.Conv2d(ch // 2, ch, 1)

    def forward(self, x):
        b, _, h, w = x.shape
        q, k, v = self.q(x).flatten(2), self.k(x).flatten(2), self.v(x).flatten(2)
        s = torch.einsum("bci,bcj->bij", q, k) / (h * w) ** 0.5
        y = torch.einsum("bij,bcj->bci", F.softmax(s, dim=-1), v)
        return x + self.back(y.view(b, -1, h, w))
