# case: clean_split_by_index expect: clean
# proved: yes
import jax.numpy as jnp
from flax import linen as nn


class Narrow(nn.Module):
    """Keys of one width, values of another; split takes the indices."""

    key_dim: int
    num_heads: int

    @nn.compact
    def __call__(self, x):
        B, L, C = x.shape
        D = self.key_dim * self.num_heads
        out = nn.Dense(D * 4, use_bias=False)(x)
        q, k, v = (y.reshape(B, L, self.num_heads, -1).swapaxes(1, 2) for y in jnp.split(out, (D, 2 * D), axis=-1))
        p = nn.softmax(jnp.matmul(q, k.swapaxes(2, 3)) / jnp.sqrt(self.key_dim))
        return nn.Dense(C)(jnp.matmul(p, v).swapaxes(1, 2).reshape(B, L, -1))
