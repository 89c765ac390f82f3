# case: clean_config_int_division expect: clean
# proved: yes
import math

import torch
from torch import nn


class LedgerSelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.n_heads = config.n_heads
        self.clerk_size = int(config.hidden_size / config.n_heads)
        self.office_size = self.n_heads * self.clerk_size
        self.query = nn.Linear(config.hidden_size, self.office_size)
        self.key = nn.Linear(config.hidden_size, self.office_size)
        self.value = nn.Linear(config.hidden_size, self.office_size)
        self.dropout = nn.Dropout(config.drop)

    def swap_in_heads(self, layer):
        shape = layer.size()[:-1] + (self.n_heads, self.clerk_size)
        return layer.view(*shape).permute(0, 2, 1, 3)

    def forward(self, rows, blanks=None, clerk_mask=None):
        asked = self.swap_in_heads(self.query(rows))
        filed = self.swap_in_heads(self.key(rows))
        entries = self.swap_in_heads(self.value(rows))
        scores = torch.matmul(asked, filed.transpose(-1, -2))
        scores = scores / math.sqrt(self.clerk_size)
        if blanks is not None:
            scores = scores + blanks
        probs = self.dropout(nn.functional.softmax(scores, dim=-1))
        if clerk_mask is not None:
            probs = probs * clerk_mask
        summary = torch.matmul(probs, entries).permute(0, 2, 1, 3).contiguous()
        return summary.view(*(summary.size()[:-2] + (self.office_size,)))
