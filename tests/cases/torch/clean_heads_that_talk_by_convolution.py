# case: clean_heads_that_talk_by_convolution expect: clean
# verdict: correct
import torch
from torch import nn


class Talking(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
        self.before = nn.Conv2d(heads, heads, 1, bias=False)
        self.after = nn.Conv2d(heads, heads, 1, bias=False)

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = (f(x).view(b, n, self.heads, self.d).transpose(1, 2) for f in (self.q, self.k, self.v))
        scores = self.before(q @ k.transpose(-2, -1) * self.d**-0.5)
        return self.after(scores.softmax(dim=-1)) @ v
