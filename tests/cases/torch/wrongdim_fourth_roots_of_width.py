# case: wrongdim_fourth_roots_of_width expect: wrong-dim-scale line: 14 alt: 15,16,18
import torch
from torch import nn


class Quarter(nn.Module):
    def __init__(self, n_state, n_head):
        super().__init__()
        self.n_head = n_head
        self.query, self.key, self.value = nn.Linear(n_state, n_state), nn.Linear(n_state, n_state), nn.Linear(n_state, n_state)

    def forward(self, x):
        n_state = x.shape[-1]
        scale = n_state**-0.25
        q = self.query(x).view(*x.shape[:2], self.n_head, -1).permute(0, 2, 1, 3) * scale
        k = self.key(x).view(*x.shape[:2], self.n_head, -1).permute(0, 2, 3, 1) * scale
        v = self.value(x).view(*x.shape[:2], self.n_head, -1).permute(0, 2, 1, 3)
        w = torch.softmax(q @ k, dim=-1)
        return (w @ v).permute(0, 2, 1, 3).flatten(2)
