# case: wrongdim_part_scaled_on_each_path expect: wrong-dim-scale line: 22
"""As its clean neighbour, with the root of the width of all heads."""

import mlx.core as mx
import mlx.nn as nn


class Partial(nn.Module):
    def __init__(self, dims):
        super().__init__()
        self.dims = dims

    def __call__(self, x):
        return mx.fast.rope(x.at[..., : self.dims].add(1.0), self.dims, traditional=False, base=1e4, scale=1.0, offset=0)


class Attention(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.heads, self.head_dim = args.heads, args.head_dim
        inner = self.heads * self.head_dim
        self.scale = inner**-0.5
        self.q, self.k, self.v = nn.Linear(args.width, inner), nn.Linear(args.width, inner), nn.Linear(args.width, inner)
        self.shift = args.shift
        self.turn = Partial(int(self.head_dim * args.share))

    def __call__(self, x):
        b, t, _ = x.shape
        q = self.q(x).reshape(b, t, self.heads, self.head_dim).transpose(0, 2, 1, 3)
        k = self.k(x).reshape(b, t, self.heads, self.head_dim).transpose(0, 2, 1, 3)
        v = self.v(x).reshape(b, t, self.heads, self.head_dim).transpose(0, 2, 1, 3)
        if self.shift:
            q, k = mx.tanh(q), mx.tanh(k)
        return mx.fast.scaled_dot_product_attention(self.turn(q), self.turn(k), v, scale=self.scale)
