# case: clean_chunked_queries_loop expect: clean
# proved: yes
import torch
from torch import nn


class Slices(nn.Module):
    """Blocks of queries, one after the other, to save memory."""

    def __init__(self, width, heads, block):
        super().__init__()
        self.heads, self.d, self.block = heads, width // heads, block
        self.scale = self.d**-0.5
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, self.d).permute(2, 0, 3, 1, 4)
        out = torch.zeros_like(q)
        for start in range(0, n, self.block):
            stop = start + self.block
            s = torch.einsum("bhid,bhjd->bhij", q[:, :, start:stop], k) * self.scale
            out[:, :, start:stop] = torch.einsum("bhij,bhjd->bhid", s.softmax(dim=-1), v)
        return out.transpose(1, 2).reshape(b, n, c)
