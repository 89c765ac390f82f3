# case: clean_block_with_features_beside expect: clean
# proved: yes
import torch
from torch import nn


class Parallel(nn.Module):
    def __init__(self, dim, num_heads, mlp_ratio=4.0, act_layer=nn.GELU, norm_layer=nn.LayerNorm):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, dim // num_heads
        self.scale = self.head_dim**-0.5
        hidden = int(mlp_ratio * dim)
        self.norm = norm_layer(dim)
        self.in_proj = nn.Linear(dim, hidden + 3 * dim)
        self.sizes = [hidden] + [dim] * 3
        self.act = act_layer()
        self.out_proj = nn.Linear(dim + hidden, dim)

    def forward(self, x):
        b, n, c = x.shape
        wide, q, k, v = torch.split(self.in_proj(self.norm(x)), self.sizes, dim=-1)
        q, k, v = (t.view(b, n, self.num_heads, self.head_dim).transpose(1, 2) for t in (q, k, v))
        weights = (q * self.scale @ k.transpose(-2, -1)).softmax(dim=-1)
        out = (weights @ v).transpose(1, 2).reshape(b, n, c)
        return x + self.out_proj(torch.cat((out, self.act(wide)), dim=-1))
