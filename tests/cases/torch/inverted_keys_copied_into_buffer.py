# case: inverted_keys_copied_into_buffer expect: inverted-scale line: 11 alt: 22
import torch
from torch import nn

class PackedKeyAttention(nn.Module):
    def __init__(self, nope, rope, heads, width):
        super().__init__()
        self.nope, self.rope, self.heads = nope, rope, heads
        self.q = nn.Linear(width, heads * (nope + rope)); self.k1 = nn.Linear(width, heads * nope); self.k2 = nn.Linear(width, rope)
        self.v = nn.Linear(width, heads * nope)
        self.scaling = (nope + rope) ** 0.5

    def forward(self, x):
        b, t, _ = x.shape
        q = self.q(x).view(b, t, self.heads, self.nope + self.rope).transpose(1, 2)
        k1 = self.k1(x).view(b, t, self.heads, self.nope).transpose(1, 2)
        k2 = self.k2(x).view(b, t, 1, self.rope).transpose(1, 2).expand(-1, self.heads, -1, -1)
        k = k1.new_empty(*k1.shape[:-1], self.nope + self.rope)
        k[..., : self.nope].copy_(k1)
        k[..., self.nope :].copy_(k2)
        v = self.v(x).view(b, t, self.heads, self.nope).transpose(1, 2)
        return torch.softmax(q @ k.transpose(-2, -1) * self.scaling, -1) @ v
