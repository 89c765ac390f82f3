# case: other_query_rows_zeroed_whole expect: clean
# proved: yes
import torch
from torch import nn


class Chat(nn.Module):
    """Rows that may look at nothing are set to zero as a whole, by a mask of the queries."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.scale = self.d**-0.5
        self.q, self.k, self.v = (nn.Linear(width, width, bias=False) for _ in range(3))

    def forward(self, x, media, text_time):
        b, n, c = x.shape
        q = self.q(x).view(b, n, self.heads, self.d).transpose(1, 2) * self.scale
        k, v = (f(media).view(b, -1, self.heads, self.d).transpose(1, 2) for f in (self.k, self.v))
        attn = (q @ k.transpose(-1, -2)).softmax(dim=-1)
        without_media = (text_time == 0)[:, None, :, None]
        attn = attn.masked_fill(without_media, 0.0)
        return (attn @ v).transpose(1, 2).reshape(b, n, c)
