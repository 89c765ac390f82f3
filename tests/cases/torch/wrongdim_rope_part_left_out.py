# case: wrongdim_rope_part_left_out expect: wrong-dim-scale line: 12 alt: 24
import torch
from torch import nn


class PartLeftOut(nn.Module):
    """Content and rotary parts are concatenated, the root counts the content alone."""

    def __init__(self, width, heads, nope, rope):
        super().__init__()
        self.heads, self.nope, self.rope = heads, nope, rope
        self.scale = nope**-0.5
        self.wq = nn.Linear(width, heads * (nope + rope))
        self.wk_nope, self.wk_rope = nn.Linear(width, heads * nope), nn.Linear(width, rope)
        self.wv = nn.Linear(width, heads * nope)

    def forward(self, x):
        b, n, _ = x.shape
        q = self.wq(x).view(b, n, self.heads, self.nope + self.rope).transpose(1, 2)
        k_nope = self.wk_nope(x).view(b, n, self.heads, self.nope)
        k_rope = self.wk_rope(x).unsqueeze(2).expand(-1, -1, self.heads, -1)
        k = torch.cat([k_nope, k_rope], dim=-1).transpose(1, 2)
        v = self.wv(x).view(b, n, self.heads, self.nope).transpose(1, 2)
        s = q @ k.transpose(-1, -2) * self.scale
        return (s.softmax(-1) @ v).transpose(1, 2).flatten(2)
