# case: clean_cat_nope_and_rope expect: clean
# proved: yes
import torch
import torch.nn.functional as F
from torch import nn


class TwoPartKeys(nn.Module):
    def __init__(self, d_model, num_heads, rope_dim, q_lora, kv_lora):
        super().__init__()
        self.num_heads, self.rope_dim = num_heads, rope_dim
        self.head_dim = d_model // num_heads
        self.down_q = nn.Linear(d_model, q_lora)
        self.up_q = nn.Linear(q_lora, num_heads * self.head_dim)
        self.up_q_rope = nn.Linear(q_lora, num_heads * rope_dim)
        self.down_kv = nn.Linear(d_model, kv_lora)
        self.up_k = nn.Linear(kv_lora, num_heads * self.head_dim)
        self.k_rope = nn.Linear(d_model, rope_dim)
        self.up_v = nn.Linear(kv_lora, num_heads * self.head_dim)

    def forward(self, x):
        b, n, _ = x.shape
        cq, ckv = self.down_q(x), self.down_kv(x)
        q = self.up_q(cq).view(b, n, self.num_heads, self.head_dim)
        q_rope = self.up_q_rope(cq).view(b, n, self.num_heads, self.rope_dim)
        k = self.up_k(ckv).view(b, n, self.num_heads, self.head_dim)
        k_rope = self.k_rope(x).unsqueeze(2).expand(-1, -1, self.num_heads, -1)
        v = self.up_v(ckv).view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        q = torch.cat([q, q_rope], dim=-1).transpose(1, 2)
        k = torch.cat([k, k_rope], dim=-1).transpose(1, 2)
        w = F.softmax(q @ k.transpose(-2, -1) * (self.head_dim + self.rope_dim) ** -0.5, dim=-1)
        return (w @ v).transpose(1, 2).flatten(2)
