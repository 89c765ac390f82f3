# case: clean_two_halves_concatenated expect: clean
# proved: yes
import torch
from torch import nn


class Halves(nn.Module):
    """Content and position have projections of half the size each; the product runs over both."""

    def __init__(self, d_model, n_head, d_qkv):
        super().__init__()
        half = d_qkv // 2
        self.n_head, self.half = n_head, half
        self.scaling_factor = 1 / d_qkv**0.5
        self.content, self.position = nn.Linear(d_model // 2, 3 * n_head * half), nn.Linear(d_model // 2, 3 * n_head * half)

    def forward(self, x):
        b, n, _ = x.shape
        x_c, x_p = torch.chunk(x, 2, dim=-1)
        c = self.content(x_c).view(b, n, 3, self.n_head, self.half).permute(2, 0, 3, 1, 4)
        p = self.position(x_p).view(b, n, 3, self.n_head, self.half).permute(2, 0, 3, 1, 4)
        q = torch.cat([c[0], p[0]], dim=-1) * self.scaling_factor
        k = torch.cat([c[1], p[1]], dim=-1)
        v = torch.cat([c[2], p[2]], dim=-1)
        dots = torch.einsum("bhqa,bhka->bhqk", q, k)
        return torch.einsum("bhqk,bhka->bqha", dots.softmax(dim=-1), v).flatten(2)
