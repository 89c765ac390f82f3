# case: clean_sdpa_default_split_three expect: clean
# proved: yes
import torch
import torch.nn as nn
import torch.nn.functional as F


class Storyteller(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.tellers = config.tellers
        self.story = config.story
        self.dropout = config.dropout
        self.open_book = nn.Linear(config.story, 3 * config.story, bias=config.bias)
        self.close_book = nn.Linear(config.story, config.story, bias=config.bias)

    def forward(self, x):
        batch, pages, wide = x.size()
        q, k, v = self.open_book(x).split(self.story, dim=2)
        k = k.view(batch, pages, self.tellers, wide // self.tellers).transpose(1, 2)
        q = q.view(batch, pages, self.tellers, wide // self.tellers).transpose(1, 2)
        v = v.view(batch, pages, self.tellers, wide // self.tellers).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=None, dropout_p=self.dropout if self.training else 0, is_causal=True)
        return self.close_book(y.transpose(1, 2).contiguous().view(batch, pages, wide))
