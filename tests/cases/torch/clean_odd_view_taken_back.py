# case: clean_odd_view_taken_back expect: clean
# proved: yes
import torch
from torch import nn


class WindowAttention(nn.Module):
    """The positions are mistaken for heads as the heads are merged, and the view behind it reads the elements as they lie."""

    def __init__(self, dim, heads, window):
        super().__init__()
        self.heads, self.window = heads, window
        self.scale = (dim // heads) ** -0.5
        self.qkv = nn.Linear(dim, dim * 3)
        self.proj = nn.Linear(dim, dim)

    def attend(self, q, k, v):
        batch, _, heads, head_dim = q.shape
        weights = torch.softmax(q @ k.transpose(-2, -1) * self.scale, dim=-1)
        return (weights @ v).transpose(1, 2).reshape(batch, -1, heads * head_dim)

    def forward(self, x):
        batch, length, dim = x.shape
        q, k, v = self.qkv(x).reshape(batch, length, 3, self.heads, dim // self.heads).permute(2, 0, 3, 1, 4)
        out = self.attend(q, k, v)
        return self.proj(out.view(-1, *self.window, dim))
