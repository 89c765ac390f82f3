# case: missing_one_beside_the_root_in_words expect: missing-scale line: 22 alt: 13
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)

        self.scale = 1.0  # (width // heads) ** -0.5

    def forward(self, x):
        b, t, c = x.shape
        q = self.query(x).view(b, t, self.heads, c // self.heads).transpose(1, 2)
        k = self.key(x).view(b, t, self.heads, c // self.heads).transpose(1, 2)
        v = self.value(x).view(b, t, self.heads, c // self.heads).transpose(1, 2)

        logits = q @ k.transpose(-2, -1) * self.scale
        return logits.softmax(-1) @ v
