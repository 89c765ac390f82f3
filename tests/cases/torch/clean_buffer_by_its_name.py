# case: clean_buffer_by_its_name expect: clean
# proved: yes
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
        self.register_buffer("scaling", torch.tensor(self.d**-0.5))

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (one(x).view(b, t, self.heads, self.d).transpose(1, 2) for one in (self.q, self.k, self.v))
        return torch.softmax(q @ k.transpose(-2, -1) * self.get_buffer("scaling"), dim=-1) @ v
