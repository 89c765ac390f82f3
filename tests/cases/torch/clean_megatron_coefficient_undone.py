# case: clean_megatron_coefficient_undone expect: clean
# proved: yes
import math

import torch
from torch import nn


class LayerCore(nn.Module):
    """The query is divided by the layer's number and the scores get it back in float32."""

    def __init__(self, hidden, heads, layer_number, query_key_layer_scaling=True):
        super().__init__()
        self.heads, self.per_head = heads, hidden // heads
        self.layer_number = max(1, layer_number)
        coeff = None
        self.norm_factor = math.sqrt(self.per_head)
        if query_key_layer_scaling:
            coeff = self.layer_number
            self.norm_factor *= coeff
        self.coeff = coeff
        self.dense = nn.Linear(hidden, 3 * hidden)

    def forward(self, x):
        length, batch, _ = x.shape
        mixed = self.dense(x).view(length, batch, self.heads, 3 * self.per_head)
        q, k, v = torch.split(mixed, self.per_head, dim=-1)
        q = q.reshape(length, batch * self.heads, self.per_head).transpose(0, 1)
        k = k.reshape(length, batch * self.heads, self.per_head).transpose(0, 1)
        v = v.reshape(length, batch * self.heads, self.per_head).transpose(0, 1)
        scores = torch.bmm(q, k.transpose(1, 2)) * (1.0 / self.norm_factor)
        scores = scores.float()
        if self.coeff is not None:
            scores = scores * self.coeff
        probs = torch.softmax(scores, dim=-1).type_as(v)
        return torch.bmm(probs, v).transpose(0, 1).reshape(length, batch, -1)
