# case: clean_heads_are_masked_in_words expect: clean
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.head_dim = heads, width // heads
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x, mask=None):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, self.head_dim).permute(2, 0, 3, 1, 4)
        weights = torch.softmax(q @ k.transpose(-2, -1) * self.head_dim**-0.5, dim=-1)
        # heads can be masked out
        if mask is not None:
            weights = weights * mask[:, None, None, :t]
        return weights @ v
