# case: clean_full_width_heads expect: clean
# proved: yes
import jax.numpy as jnp
from flax import linen as nn


class WideHeads(nn.Module):
    """Every head is as wide as the input."""

    num_heads: int

    @nn.compact
    def __call__(self, x):
        B, L, E = x.shape
        out = nn.Dense(self.num_heads * E * 3, use_bias=False)(x)
        q, k, v = (y.reshape(B, L, self.num_heads, E) for y in jnp.split(out, 3, -1))
        attn = nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k, optimize=True) * (E**-0.5))
        out = jnp.einsum("bhqk,bkhd->bqhd", attn, v)
        return nn.Dense(E, use_bias=False)(out.reshape(B, L, -1))
