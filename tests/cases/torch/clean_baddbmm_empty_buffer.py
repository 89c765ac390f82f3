# case: clean_baddbmm_empty_buffer expect: clean
# proved: yes
import math

import torch
from torch import nn


class FusedBuffer(nn.Module):
    def __init__(self, kv_channels, heads, hidden):
        super().__init__()
        self.heads, self.kv_channels = heads, kv_channels
        self.norm_factor = math.sqrt(kv_channels)
        self.qkv = nn.Linear(hidden, 3 * heads * kv_channels)

    def forward(self, x):
        s, b, _ = x.shape
        q, k, v = self.qkv(x).view(s, b, 3, self.heads, self.kv_channels).unbind(2)
        q = q.reshape(s, b * self.heads, -1)
        k = k.reshape(s, b * self.heads, -1)
        v = v.reshape(s, b * self.heads, -1)
        buffer = torch.empty(b * self.heads, s, s, dtype=q.dtype, device=q.device)
        scores = torch.baddbmm(buffer, q.transpose(0, 1), k.transpose(0, 1).transpose(1, 2), beta=0.0, alpha=1.0 / self.norm_factor)
        probs = torch.softmax(scores.view(b, self.heads, s, s), dim=-1).view(b * self.heads, s, s)
        return torch.bmm(probs, v.transpose(0, 1)).transpose(0, 1).reshape(s, b, -1)
