# case: missing_beside_a_rule_of_depth expect: missing-scale line: 17 alt: 18
import torch
from torch import nn


class Plain(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads, self.d = config.heads, config.width // config.heads
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(config.width, config.width) for _ in range(3))
        std = config.width**-0.5 * (2 * config.num_layers) ** -0.5
        nn.init.normal_(self.q_proj.weight, std=std)

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = (f(x).view(b, n, self.heads, self.d).transpose(1, 2) for f in (self.q_proj, self.k_proj, self.v_proj))
        scores = q @ k.transpose(-2, -1)
        return scores.softmax(dim=-1) @ v
