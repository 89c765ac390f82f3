# case: clean_axial_rows_and_columns expect: clean
# proved: yes
import torch
from torch import nn


class Crossword(nn.Module):
    def __init__(self, dim, heads, dim_heads=None):
        super().__init__()
        self.dim_heads = (dim // heads) if dim_heads is None else dim_heads
        self.heads = heads
        hidden = self.dim_heads * heads
        self.to_q = nn.Linear(dim, hidden, bias=False)
        self.to_kv = nn.Linear(dim, 2 * hidden, bias=False)

    def lines(self, x):
        q, k, v = (self.to_q(x), *self.to_kv(x).chunk(2, dim=-1))
        b, t, d, h, e = *q.shape, self.heads, self.dim_heads
        fold = lambda y: y.reshape(b, -1, h, e).transpose(1, 2).reshape(b * h, -1, e)
        q, k, v = map(fold, (q, k, v))
        dots = torch.einsum("bie,bje->bij", q, k) * (e**-0.5)
        out = torch.einsum("bij,bje->bie", dots.softmax(dim=-1), v)
        return out.reshape(b, h, -1, e).transpose(1, 2).reshape(b, -1, d)

    def forward(self, grid):
        b, r, c, d = grid.shape
        across = self.lines(grid.reshape(b * r, c, d)).reshape(b, r, c, -1)
        down = self.lines(grid.transpose(1, 2).reshape(b * c, r, d)).reshape(b, c, r, -1).transpose(1, 2)
        return across + down
