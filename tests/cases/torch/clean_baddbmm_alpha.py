# case: clean_baddbmm_alpha expect: clean
# proved: yes
import math

import torch
from torch import nn


class SlopeAttention(nn.Module):
    def __init__(self, hidden_size, n_head):
        super().__init__()
        self.hidden_size, self.num_heads = hidden_size, n_head
        self.head_dim = hidden_size // n_head
        self.inv_norm_factor = 1.0 / math.sqrt(self.head_dim)
        self.beta = 1.0
        self.query_key_value = nn.Linear(hidden_size, 3 * hidden_size, bias=True)

    def _unpack(self, fused):
        batch, length, _ = fused.shape
        fused = fused.view(batch, length, self.num_heads, 3, self.head_dim)
        q = fused[..., 0, :].transpose(1, 2)
        k = fused[..., 1, :].transpose(1, 2)
        v = fused[..., 2, :].transpose(1, 2)
        return q, k, v

    def forward(self, hidden, slopes):
        batch, length, _ = hidden.shape
        q, k, v = self._unpack(self.query_key_value(hidden))
        q = q.reshape(batch * self.num_heads, -1, self.head_dim)
        k = k.reshape(batch * self.num_heads, -1, self.head_dim).transpose(-1, -2)
        v = v.reshape(batch * self.num_heads, -1, self.head_dim)
        scores = slopes.baddbmm(batch1=q, batch2=k, beta=self.beta, alpha=self.inv_norm_factor)
        scores = scores.view(batch, self.num_heads, length, -1)
        probs = torch.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
        mixed = torch.bmm(probs.view(batch * self.num_heads, length, -1), v)
        return mixed.view(batch, self.num_heads, length, self.head_dim).transpose(1, 2).reshape(batch, length, -1)
