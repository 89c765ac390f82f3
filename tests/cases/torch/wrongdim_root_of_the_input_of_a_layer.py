# case: wrongdim_root_of_the_input_of_a_layer expect: wrong-dim-scale line: 26
import math

import torch
import torch.nn.functional as F
from torch import nn


class Dense(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x):
        return F.linear(x, self.weight)


class Attention(nn.Module):
    """The root of the input width stands where the query is made for its product with the key."""

    def __init__(self, width, heads, head_dim):
        super().__init__()
        self.heads, self.head_dim = heads, head_dim
        self.q, self.k, self.v = Dense(width, heads * head_dim), Dense(width, heads * head_dim), Dense(width, heads * head_dim)
        self.root = math.sqrt(width)

    def forward(self, x):
        b, t = x.size(0), x.size(1)
        q = self.q(x).view(b, t, self.heads, self.head_dim).transpose(1, 2) / self.root
        k = self.k(x).view(b, t, self.heads, self.head_dim).transpose(1, 2)
        v = self.v(x).view(b, t, self.heads, self.head_dim).transpose(1, 2)
        return torch.softmax(q @ k.transpose(2, 3), dim=-1) @ v
