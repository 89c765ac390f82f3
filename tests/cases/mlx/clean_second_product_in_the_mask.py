# case: clean_second_product_in_the_mask expect: clean
"""Multi-head latent attention: the logits are two products, one handed to the kernel as its additive mask; the scale is that of both widths."""

import mlx.core as mx
import mlx.nn as nn


class PerHead(nn.Module):
    def __init__(self, inputs, outputs, heads):
        super().__init__()
        self.weight = mx.random.uniform(low=-1.0, high=1.0, shape=(heads, outputs, inputs))

    def __call__(self, x, transpose=True):
        return x @ self.weight.swapaxes(-1, -2) if transpose else x @ self.weight


class Latent(nn.Module):
    def __init__(self, width, heads, plain, turned, rank, q_rank, v_dim):
        super().__init__()
        self.heads, self.plain, self.turned, self.rank = heads, plain, turned, rank
        self.q_dim = plain + turned
        self.scale = self.q_dim**-0.5
        self.q_scale = (width / q_rank) ** 0.5
        self.q_down, self.q_up = nn.Linear(width, q_rank), nn.Linear(q_rank, heads * self.q_dim)
        self.kv_down = nn.Linear(width, rank + turned)
        self.embed_q, self.unembed = PerHead(plain, rank, heads), PerHead(rank, v_dim, heads)
        self.out = nn.Linear(heads * v_dim, width)

    def __call__(self, x):
        b, t, _ = x.shape
        q = self.q_up(self.q_down(x)).reshape(b, t, self.heads, self.q_dim).transpose(0, 2, 1, 3)
        q = q * self.q_scale
        q_plain, q_turned = mx.split(q, [self.plain], axis=-1)
        latent, k_turned = mx.split(self.kv_down(x), [self.rank], axis=-1)
        k_turned = k_turned.reshape(b, t, 1, self.turned).transpose(0, 2, 1, 3)
        latent = mx.expand_dims(latent, axis=1)
        bias = (q_turned * self.scale) @ k_turned.swapaxes(-1, -2)
        if t == 1:
            q_plain, k, v = self.embed_q(q_plain), latent, latent
        else:
            k, v = self.embed_q(latent, transpose=False), self.unembed(latent)
        o = mx.fast.scaled_dot_product_attention(q_plain, k, v, scale=self.scale, mask=bias)
        if t == 1:
            o = self.unembed(o)
        return self.out(o.transpose(0, 2, 1, 3).reshape(b, t, -1))
