# case: clean_root_in_a_layer_of_its_own expect: clean
import math

import torch
import torch.nn.functional as F
from torch import nn


class Dense(nn.Module):
    """Weights that start with variance 1, divided by the root of the input width at their product: the projection's own root."""

    def __init__(self, inputs, outputs, scale_before=False, bias=False):
        super().__init__()
        self.inputs, self.scale_before = inputs, scale_before
        self.weight = nn.Parameter(torch.randn(outputs, inputs))
        self.bias = nn.Parameter(torch.zeros(outputs)) if bias else None

    def forward(self, x):
        if self.scale_before:
            x = x / math.sqrt(self.inputs)
        x = F.linear(x, self.weight)
        if not self.scale_before:
            x = x / math.sqrt(self.inputs)
        return x if self.bias is None else x + self.bias


class Attention(nn.Module):
    def __init__(self, width, heads, head_dim):
        super().__init__()
        self.heads, self.head_dim = heads, head_dim
        self.q, self.k, self.v = Dense(width, heads * head_dim), Dense(width, heads * head_dim), Dense(width, heads * head_dim)

    def forward(self, x, memory):
        b, t, n = x.size(0), x.size(1), memory.size(1)
        q = self.q(x).view(b, t, self.heads, self.head_dim).transpose(1, 2)
        k = self.k(memory).view(b, n, self.heads, self.head_dim).transpose(1, 2)
        v = self.v(memory).view(b, n, self.heads, self.head_dim).transpose(1, 2)
        return torch.softmax(q @ k.transpose(2, 3) / math.sqrt(self.head_dim), dim=-1) @ v
