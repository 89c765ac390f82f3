# case: wrongdim_laid_out expect: wrong-dim-scale line: 17 alt: 19
import jax
import jax.numpy as jnp
from flax import linen as nn
from jax.ad_checkpoint import checkpoint_name
from jax.experimental.layout import with_layout_constraint


class Laid(nn.Module):
    heads: int
    width: int
    layout: object

    @nn.compact
    def __call__(self, x):
        q, k, v = (nn.DenseGeneral((self.heads, self.width), name=name)(x) for name in "qkv")
        q = checkpoint_name(with_layout_constraint(q * (self.heads * self.width) ** -0.5, self.layout), "query")
        k = nn.with_logical_constraint(jax.lax.optimization_barrier(k), ("batch", "length", "heads", "kv"))
        weights = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, jax.lax.reduce_precision(k, 8, 7)))
        return jnp.einsum("bhqk,bkhd->bqhd", weights, v)
