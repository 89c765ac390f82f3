# case: clean_formatted_equation expect: clean
# proved: yes
import torch
from torch import nn


class OneKeyOrMany(nn.Module):
    def forward(self, q, k, v):
        keys = "b j d" if k.ndim == 3 else "b h j d"
        sim = torch.einsum(f"b h i d, {keys} -> b h i j", q, k) * q.shape[-1] ** -0.5
        return torch.einsum(f"b h i j, {keys} -> b h i d", sim.softmax(dim=-1), v)
