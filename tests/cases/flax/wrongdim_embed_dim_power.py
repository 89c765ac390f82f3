# case: wrongdim_embed_dim_power expect: wrong-dim-scale line: 17
import jax.numpy as jnp
from flax import linen as nn


class Embedded(nn.Module):
    embed_dim: int
    num_heads: int

    @nn.compact
    def __call__(self, x):
        B, T, E = x.shape
        head = self.embed_dim // self.num_heads
        q = nn.Dense(self.embed_dim)(x).reshape(B, T, self.num_heads, head).transpose(0, 2, 1, 3)
        k = nn.Dense(self.embed_dim)(x).reshape(B, T, self.num_heads, head).transpose(0, 2, 1, 3)
        v = nn.Dense(self.embed_dim)(x).reshape(B, T, self.num_heads, head).transpose(0, 2, 1, 3)
        logits = jnp.matmul(q, k.transpose(0, 1, 3, 2)) / self.embed_dim**0.5
        y = jnp.matmul(nn.softmax(logits, axis=-1), v)
        return y.transpose(0, 2, 1, 3).reshape(B, T, self.embed_dim)
