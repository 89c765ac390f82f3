# case: intended_key_projection_absorbed_by_a_helper expect: clean
# verdict: intended
"""Latent attention: the query is made by a function from elsewhere, then goes through the keys' projection, head by head."""

import mlx.core as mx
import mlx.nn as nn
from somewhere import project


class PerHead(nn.Module):
    def __init__(self, inputs, outputs, heads):
        super().__init__()
        self.weight = mx.random.uniform(low=-1.0, high=1.0, shape=(heads, outputs, inputs))

    def __call__(self, x):
        return x @ self.weight.swapaxes(-1, -2)


class Latent(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.heads, self.head_dim = args.heads, args.nope
        self.scale = self.head_dim**-0.5
        self.embed_q = PerHead(args.nope, args.rank, args.heads)
        self.layer = nn.Linear(args.width, args.heads * args.nope)
        self.down = nn.Linear(args.width, args.rank)

    def __call__(self, x):
        b, t, _ = x.shape
        q = project(self.layer, x).reshape(b, t, self.heads, self.head_dim).transpose(0, 2, 1, 3)
        latent = self.down(x)[:, None]
        return self.attend(q, latent)

    def attend(self, q, latent):
        return mx.fast.scaled_dot_product_attention(self.embed_q(q), latent, latent, scale=self.scale)
