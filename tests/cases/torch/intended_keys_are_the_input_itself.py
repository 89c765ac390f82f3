# case: intended_keys_are_the_input_itself expect: clean
# verdict: intended
import torch
from torch import nn


class Attention(nn.Module):
    """The keys are the input as it is, of which the query is a projection: a bilinear score, unscaled as it is published."""

    def __init__(self, width, heads, keys_as_input=True):
        super().__init__()
        self.heads, self.keys_as_input = heads, keys_as_input
        self.parts = nn.Linear(width, width * (2 if keys_as_input else 3), bias=False)

    def forward(self, x):
        b, t, d = x.size()
        if self.keys_as_input:
            q, v = torch.chunk(self.parts(x), 2, dim=-1)
            k = x
        else:
            q, k, v = torch.chunk(self.parts(x), 3, dim=-1)
        q, k, v = (one.reshape(b, t, self.heads, d // self.heads).transpose(1, 2) for one in (q, k, v))
        return torch.softmax(q @ k.transpose(-1, -2), dim=-1) @ v
