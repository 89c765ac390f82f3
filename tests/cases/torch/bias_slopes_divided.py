# case: bias_slopes_divided expect: scaled-mask-or-bias line: 18
import torch
from torch import nn


class SlopesFirst(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.register_buffer("slopes", 2.0 ** (-torch.arange(1, heads + 1).float()))
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, self.d).permute(2, 0, 3, 1, 4)
        at = torch.arange(n)
        distance = -(at[:, None] - at[None]).abs() * self.slopes[:, None, None]
        s = (torch.einsum("bhid,bhjd->bhij", q, k) + distance) * self.d**-0.5
        return (s.softmax(-1) @ v).transpose(1, 2).reshape(b, n, c)
