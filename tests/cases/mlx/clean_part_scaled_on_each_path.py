# case: clean_part_scaled_on_each_path expect: clean
"""`x.at[..., :d].multiply(s)` of a query that is another one on each path: all of x comes back on both."""

import mlx.core as mx
import mlx.nn as nn


class Partial(nn.Module):
    def __init__(self, dims, gain):
        super().__init__()
        self.dims, self.gain = dims, gain

    def __call__(self, x):
        return mx.fast.rope(x.at[..., : self.dims].multiply(self.gain), self.dims, traditional=False, base=1e4, scale=1.0, offset=0)


class Attention(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.heads, self.head_dim = args.heads, args.head_dim
        self.scale = self.head_dim**-0.5
        inner = self.heads * self.head_dim
        self.q, self.k, self.v = nn.Linear(args.width, inner), nn.Linear(args.width, inner), nn.Linear(args.width, inner)
        self.shift = args.shift
        self.turn = Partial(int(self.head_dim * args.share), 1.0)

    def __call__(self, x):
        b, t, _ = x.shape
        q = self.q(x).reshape(b, t, self.heads, self.head_dim).transpose(0, 2, 1, 3)
        k = self.k(x).reshape(b, t, self.heads, self.head_dim).transpose(0, 2, 1, 3)
        v = self.v(x).reshape(b, t, self.heads, self.head_dim).transpose(0, 2, 1, 3)
        if self.shift:
            q, k = mx.tanh(q), mx.tanh(k)
        return mx.fast.scaled_dot_product_attention(self.turn(q), self.turn(k), v, scale=self.scale)
