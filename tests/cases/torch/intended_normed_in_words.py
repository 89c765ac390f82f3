# case: intended_normed_in_words expect: clean
# verdict: intended
import compiled
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.head_dim = heads, width // heads
        self.qkv = nn.Linear(width, 3 * width)
        # the kernel norms what it is given: q and k are normalised per head,
        # which is why the scale is no root
        self.scale = 1.0 / self.head_dim

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, self.head_dim).unbind(2)
        return compiled.attention(q, k, v, softmax_scale=self.scale)
