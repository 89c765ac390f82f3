# case: clean_config_int_division expect: clean
# proved: yes
import math

import torch
from torch import nn


class LedgerSelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.num_attention_heads = config.num_attention_heads
        self.attention_head_size = int(config.hidden_size / config.num_attention_heads)
        self.all_head_size = self.num_attention_heads * self.attention_head_size
        self.query = nn.Linear(config.hidden_size, self.all_head_size)
        self.key = nn.Linear(config.hidden_size, self.all_head_size)
        self.value = nn.Linear(config.hidden_size, self.all_head_size)
        self.dropout = nn.Dropout(config.attention_probs_dropout_prob)

    def swap_in_heads(self, layer):
        shape = layer.size()[:-1] + (self.num_attention_heads, self.attention_head_size)
        return layer.view(*shape).permute(0, 2, 1, 3)

    def forward(self, rows, attention_mask=None, head_mask=None):
        query_layer = self.swap_in_heads(self.query(rows))
        key_layer = self.swap_in_heads(self.key(rows))
        value_layer = self.swap_in_heads(self.value(rows))
        scores = torch.matmul(query_layer, key_layer.transpose(-1, -2))
        scores = scores / math.sqrt(self.attention_head_size)
        if attention_mask is not None:
            scores = scores + attention_mask
        probs = self.dropout(nn.functional.softmax(scores, dim=-1))
        if head_mask is not None:
            probs = probs * head_mask
        context = torch.matmul(probs, value_layer).permute(0, 2, 1, 3).contiguous()
        return context.view(*(context.size()[:-2] + (self.all_head_size,)))
