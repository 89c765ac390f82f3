# case: missing_compact expect: missing-scale line: 15 alt: 16
import jax.numpy as jnp
from flax import linen as nn


class Bare(nn.Module):
    heads: int
    dim_head: int

    @nn.compact
    def __call__(self, x):
        b, n, d = x.shape
        qkv = nn.Dense(self.heads * self.dim_head * 3, use_bias=False)(x)
        q, k, v = (t.reshape(b, n, self.heads, self.dim_head) for t in jnp.split(qkv, 3, axis=-1))
        s = jnp.einsum("bihd,bjhd->bhij", q, k)
        p = nn.softmax(s, axis=-1)
        return nn.Dense(d)(jnp.einsum("bhij,bjhd->bihd", p, v).reshape(b, n, -1))
