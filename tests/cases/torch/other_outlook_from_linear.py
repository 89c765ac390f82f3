# case: other_outlook_from_linear expect: clean
import torch
import torch.nn.functional as F
from torch import nn


class Outlook(nn.Module):
    def __init__(self, dim, heads, kernel=3):
        super().__init__()
        self.heads, self.kernel = heads, kernel
        self.scale = (dim // heads) ** -0.5
        self.v = nn.Linear(dim, dim, bias=False)
        self.attn = nn.Linear(dim, kernel**4 * heads)

    def forward(self, x):
        b, h, w, c = x.shape
        kk = self.kernel**2
        v = F.unfold(self.v(x).permute(0, 3, 1, 2), self.kernel, padding=self.kernel // 2)
        v = v.reshape(b, self.heads, c // self.heads, kk, h * w).permute(0, 1, 4, 3, 2)
        a = self.attn(x).reshape(b, h * w, self.heads, kk, kk).permute(0, 2, 1, 3, 4) * self.scale
        y = (a.softmax(dim=-1) @ v).permute(0, 1, 4, 3, 2).reshape(b, c * kk, h * w)
        return F.fold(y, (h, w), self.kernel, padding=self.kernel // 2)
