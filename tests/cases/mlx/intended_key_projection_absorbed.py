# case: intended_key_projection_absorbed expect: clean
"""Latent attention, decoding step: the key projection is absorbed into the query (`embed_q(q)` per head), so the product runs over the latent
rank while the logits are those of q·k over head_dim. 1/√head_dim is right; keys and values are the same latent."""

import mlx.core as mx
import mlx.nn as nn


class PerHead(nn.Module):
    def __init__(self, inputs, outputs, heads):
        super().__init__()
        self.weight = mx.random.uniform(low=-1.0, high=1.0, shape=(heads, outputs, inputs))

    def __call__(self, x, transpose=True):
        return x @ self.weight.swapaxes(-1, -2) if transpose else x @ self.weight


class Latent(nn.Module):
    def __init__(self, width, heads, size, rank):
        super().__init__()
        self.heads, self.size = heads, size
        self.scale = self.size**-0.5
        self.q, self.kv = nn.Linear(width, heads * size, bias=False), nn.Linear(width, rank, bias=False)
        self.norm = nn.RMSNorm(rank)
        self.embed_q, self.unembed = PerHead(size, rank, heads), PerHead(rank, size, heads)

    def __call__(self, x):
        b, t, _ = x.shape
        q = self.q(x).reshape(b, t, self.heads, self.size).transpose(0, 2, 1, 3)
        latent = self.norm(self.kv(x))[:, None]
        o = mx.fast.scaled_dot_product_attention(self.embed_q(q), latent, latent, scale=self.scale)
        return self.unembed(o).transpose(0, 2, 1, 3).reshape(b, t, -1)
