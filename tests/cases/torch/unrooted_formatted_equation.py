# case: unrooted_formatted_equation expect: unrooted-scale line: 9
import torch
from torch import nn


class ManyKeys(nn.Module):
    def forward(self, q, k, v):
        keys = "b h j d"
        sim = torch.einsum(f"b h i d, {keys} -> b h i j", q, k) / q.shape[-1]
        return torch.einsum(f"b h i j, {keys} -> b h i d", sim.softmax(dim=-1), v)
