# case: clean_packed_with_a_bias_from_outside expect: clean
import torch
from torch import nn


class PackedWithBias(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.head_dim = width // heads
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x, bias):
        length = x.shape[0]
        q, k, v = self.qkv(x).reshape(length, 3, self.heads, -1).permute(1, 0, 2, 3).unbind(0)
        q, k, v = (one.transpose(0, 1).unsqueeze(0) for one in (q, k, v))
        scores = torch.matmul(q, k.transpose(2, 3)) * self.head_dim**-0.5
        weights = torch.softmax(scores + bias, dim=-1)
        return torch.matmul(weights, v).transpose(1, 2).reshape(length, -1)
