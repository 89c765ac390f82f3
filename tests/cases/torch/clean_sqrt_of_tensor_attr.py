# case: clean_sqrt_of_tensor_attr expect: clean
# proved: yes
import torch
from torch import nn


class Glossary(nn.Module):
    def __init__(self, embed_dim, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.head_dim = embed_dim // n_heads
        self.scale_attn = torch.sqrt(torch.tensor(self.head_dim, dtype=torch.float32)).to(torch.get_default_dtype())
        self.qkv_proj = nn.Linear(embed_dim, embed_dim * 3, bias=False)

    def _attn(self, query, key, value, causal):
        attn = torch.matmul(query.to(torch.float32), key.transpose(-1, -2).to(torch.float32))
        floor = torch.finfo(attn.dtype).min
        attn = torch.where(causal, attn, torch.tensor(floor, dtype=attn.dtype))
        attn = attn / self.scale_attn
        return torch.matmul(nn.Softmax(dim=-1)(attn).to(value.dtype), value)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (t.view(b, n, self.n_heads, self.head_dim).permute(0, 2, 1, 3) for t in self.qkv_proj(x).chunk(3, dim=-1))
        causal = torch.ones(n, n, dtype=torch.bool).tril()
        return self._attn(q, k, v, causal).permute(0, 2, 1, 3).reshape(b, n, c)
