# case: clean_instance_with_temperature expect: clean
# proved: yes
import torch
import torch.nn as nn
import torch.nn.functional as F


class DotProduct(nn.Module):
    def __init__(self, temperature, attn_dropout=0.1):
        super().__init__()
        self.temperature = temperature
        self.dropout = nn.Dropout(attn_dropout)

    def forward(self, q, k, v, mask=None):
        attn = torch.matmul(q / self.temperature, k.transpose(2, 3))
        if mask is not None:
            attn = attn.masked_fill(mask == 0, -1e9)
        attn = self.dropout(F.softmax(attn, dim=-1))
        return torch.matmul(attn, v), attn


class ManyHeads(nn.Module):
    def __init__(self, n_head, d_model, d_k, d_v):
        super().__init__()
        self.n_head, self.d_k, self.d_v = n_head, d_k, d_v
        self.w_qs = nn.Linear(d_model, n_head * d_k, bias=False)
        self.w_ks = nn.Linear(d_model, n_head * d_k, bias=False)
        self.w_vs = nn.Linear(d_model, n_head * d_v, bias=False)
        self.attention = DotProduct(temperature=d_k**0.5)

    def forward(self, q, k, v, mask=None):
        size, len_q, len_k, len_v = q.size(0), q.size(1), k.size(1), v.size(1)
        q = self.w_qs(q).view(size, len_q, self.n_head, self.d_k)
        k = self.w_ks(k).view(size, len_k, self.n_head, self.d_k)
        v = self.w_vs(v).view(size, len_v, self.n_head, self.d_v)
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        out, attn = self.attention(q, k, v, mask=mask)
        return out.transpose(1, 2).contiguous().view(size, len_q, -1), attn
