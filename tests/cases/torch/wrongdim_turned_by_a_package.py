# case: wrongdim_turned_by_a_package expect: wrong-dim-scale line: 17
from timm.layers import DropPath, LayerNorm, apply_rot_embed_cat
from torch import nn


class Turned(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.head_dim = heads, width // heads
        self.norm, self.drop = LayerNorm(width), DropPath(0.1)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, grid):
        b, n, c = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(b, n, 3, self.heads, self.head_dim).permute(2, 0, 3, 1, 4)
        q, k = apply_rot_embed_cat(q, grid.unsqueeze(1)), apply_rot_embed_cat(k, grid.unsqueeze(1))
        weights = (q @ k.transpose(-2, -1) * (self.head_dim * self.heads) ** -0.5).softmax(dim=-1)
        return x + self.drop(self.out((weights @ v).transpose(1, 2).reshape(b, n, c)))
