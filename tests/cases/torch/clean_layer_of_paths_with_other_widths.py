# case: clean_layer_of_paths_with_other_widths expect: clean
"""The last layer is handed the output of two paths whose widths are two settings: that it takes one of them makes the two no one size."""

import torch
from torch import nn


class Latent(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads, self.nope, self.rope, self.v_dim = config.heads, config.nope, config.rope, config.v_dim
        self.scale = (self.nope + self.rope) ** -0.5
        self.q = nn.Linear(config.width, self.heads * (self.nope + self.rope))
        self.k_rope = nn.Linear(config.width, self.rope)
        self.k = nn.Linear(config.width, self.heads * self.nope)
        self.v = nn.Linear(config.width, self.heads * self.v_dim)
        self.out = nn.Linear(self.heads * self.v_dim, config.width)

    def forward(self, x, keys_are_values=False):
        b, t, _ = x.shape
        q = self.q(x).view(b, t, self.heads, self.nope + self.rope).transpose(1, 2)
        plain, turned = q.split([self.nope, self.rope], dim=-1)
        k = self.k(x).view(b, t, self.heads, self.nope).transpose(1, 2)
        k_turned = self.k_rope(x).unsqueeze(1)
        v = k if keys_are_values else self.v(x).view(b, t, self.heads, self.v_dim).transpose(1, 2)
        logits = plain @ k.transpose(-1, -2) + turned @ k_turned.transpose(-1, -2)
        y = torch.softmax(logits * self.scale, dim=-1) @ v
        return self.out(y.transpose(1, 2).reshape(b, t, -1))
