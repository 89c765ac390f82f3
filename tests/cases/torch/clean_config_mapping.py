# case: clean_config_mapping expect: clean
# proved: yes
import math

import torch
from torch import nn


class Tollgate(nn.Module):
    def __init__(self, params: dict):
        super().__init__()
        self.n_heads = params["n_heads"]
        self.emb_dim = params["emb_dim"]
        self.head_size = params["emb_dim"] // params["n_heads"]
        self.proj = nn.Linear(params["emb_dim"], 3 * params["emb_dim"])

    def forward(self, x):
        b, n, e = x.shape
        qkv = self.proj(x).view(b, n, 3, self.n_heads, self.head_size)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        logits = q @ k.transpose(-2, -1) / math.sqrt(self.head_size)
        return (torch.softmax(logits, dim=-1) @ v).transpose(1, 2).contiguous().view(b, n, e)
