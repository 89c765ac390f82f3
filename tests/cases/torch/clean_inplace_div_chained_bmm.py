# case: clean_inplace_div_chained_bmm expect: clean
# proved: yes
import math

import torch
from torch import nn


class Dialogue(nn.Module):
    def __init__(self, n_heads, dim):
        super().__init__()
        self.n_heads, self.dim = n_heads, dim
        self.q_lin, self.k_lin, self.v_lin = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, turn, memory):
        batch, turn_len, dim = turn.size()
        dim_per_head = dim // self.n_heads
        root = math.sqrt(dim_per_head)

        def ready(tensor):
            bsz, length, _ = tensor.size()
            tensor = tensor.view(bsz, length, self.n_heads, dim_per_head)
            return tensor.transpose(1, 2).contiguous().view(bsz * self.n_heads, length, dim_per_head)

        q = ready(self.q_lin(turn))
        k = ready(self.k_lin(memory))
        v = ready(self.v_lin(memory))
        dots = q.div_(root).bmm(k.transpose(1, 2))
        mixed = dots.softmax(dim=-1).bmm(v)
        mixed = mixed.type_as(turn).view(batch, self.n_heads, turn_len, dim_per_head)
        return mixed.transpose(1, 2).contiguous().view(batch, turn_len, dim)
