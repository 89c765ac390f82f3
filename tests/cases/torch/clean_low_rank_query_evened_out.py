# case: clean_low_rank_query_evened_out expect: clean
# proved: yes
import torch
from torch import nn


class LatentAttention(nn.Module):
    """The low-rank query is brought back to the variance that a full projection has, beside the scale of the product."""

    def __init__(self, config):
        super().__init__()
        self.heads, self.head_dim = config.num_heads, config.head_dim
        self.down = nn.Linear(config.hidden_size, config.q_rank)
        self.up = nn.Linear(config.q_rank, self.heads * self.head_dim)
        self.key = nn.Linear(config.hidden_size, self.heads * self.head_dim)
        self.value = nn.Linear(config.hidden_size, self.heads * self.head_dim)
        self.evened = (config.hidden_size / config.q_rank) ** 0.5
        self.scale = self.head_dim**-0.5

    def split(self, x):
        return x.view(*x.shape[:2], self.heads, self.head_dim).transpose(1, 2)

    def forward(self, x):
        q = self.split(self.up(self.down(x))) * self.evened
        k, v = self.split(self.key(x)), self.split(self.value(x))
        return torch.softmax(q @ k.transpose(-2, -1) * self.scale, dim=-1) @ v
