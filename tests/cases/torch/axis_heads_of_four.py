# case: axis_heads_of_four expect: softmax-axis line: 17
import torch
import torch.nn.functional as F
from torch import nn


class OverHeads(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        s = q @ k.transpose(-2, -1) * (c // self.heads) ** -0.5
        return (F.softmax(s, dim=1) @ v).transpose(1, 2).reshape(b, n, c)
