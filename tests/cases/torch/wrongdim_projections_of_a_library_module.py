# case: wrongdim_projections_of_a_library_module expect: wrong-dim-scale line: 23
import torch
from torch import nn


class Extractor(nn.Module):
    """Attention by hand with the weights that the library's module keeps."""

    def __init__(self, width, heads):
        super().__init__()
        self.attn = nn.MultiheadAttention(width, heads)
        self.norm = nn.LayerNorm(width)

    def forward(self, x, y):
        width = self.norm.weight.size(0)
        q = (x @ self.attn.in_proj_weight[:width].T) + self.attn.in_proj_bias[:width]
        k = (y @ self.attn.in_proj_weight[width:-width].T) + self.attn.in_proj_bias[width:-width]
        v = (y @ self.attn.in_proj_weight[-width:].T) + self.attn.in_proj_bias[-width:]
        rows, columns, batch = q.size(0), k.size(0), q.size(1)
        q = q.view(rows, batch, self.attn.num_heads, self.attn.head_dim).permute(1, 2, 0, 3)
        k = k.view(columns, batch, self.attn.num_heads, self.attn.head_dim).permute(1, 2, 0, 3)
        v = v.view(columns, batch, self.attn.num_heads, self.attn.head_dim).permute(1, 2, 0, 3)
        scores = q @ k.transpose(-2, -1) / (self.attn.embed_dim**0.5)
        return self.attn.out_proj((scores.softmax(dim=-1) @ v).permute(2, 0, 1, 3).flatten(2))
