# case: clean_alibi_argument_scaled_along expect: clean
import math

import torch
from torch import nn


class Trained(nn.Module):
    """What `alibi` holds is decided by the caller; it is divided together with the scores."""

    def __init__(self, config):
        super().__init__()
        self.num_heads = config.n_head
        self.head_dim = config.hidden_size // config.n_head
        self.inv_norm_factor = 1.0 / math.sqrt(self.head_dim)
        self.query_key_value = nn.Linear(config.hidden_size, 3 * config.hidden_size)

    def forward(self, x, alibi, mask):
        b, n, _ = x.shape
        q, k, v = self.query_key_value(x).view(b, n, self.num_heads, 3, self.head_dim).unbind(3)
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        scores = q @ k.transpose(-1, -2)
        scores = (scores + alibi.view(b, self.num_heads, 1, -1)) * self.inv_norm_factor
        probs = nn.functional.softmax(scores + mask, dim=-1)
        return (probs @ v).transpose(1, 2).reshape(b, n, -1)
