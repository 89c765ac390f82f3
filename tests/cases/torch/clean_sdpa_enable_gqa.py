# case: clean_sdpa_enable_gqa expect: clean
# proved: yes
import torch
import torch.nn.functional as F
from torch import nn


class SharedKeys(nn.Module):
    def __init__(self, dim, n_q, n_kv):
        super().__init__()
        self.n_q, self.n_kv, self.d = n_q, n_kv, dim // n_q
        self.wq = nn.Linear(dim, n_q * self.d, bias=False)
        self.wkv = nn.Linear(dim, 2 * n_kv * self.d, bias=False)

    def forward(self, x):
        b, n, _ = x.shape
        q = self.wq(x).view(b, n, self.n_q, self.d).transpose(1, 2)
        k, v = self.wkv(x).view(b, n, 2, self.n_kv, self.d).unbind(2)
        y = F.scaled_dot_product_attention(q, k.transpose(1, 2), v.transpose(1, 2), is_causal=True, enable_gqa=True)
        return y.transpose(1, 2).flatten(2)
