# case: clean_compact_dense_general expect: clean
# proved: yes
import jax
import jax.numpy as jnp
from flax import linen as nn


class Compact(nn.Module):
    heads: int
    head_dim: int

    @nn.compact
    def __call__(self, x, mask=None):
        project = lambda name: nn.DenseGeneral((self.heads, self.head_dim), use_bias=False, name=name)(x)
        q, k, v = project("query"), project("key"), project("value")
        logits = jnp.einsum("blhd,bmhd->bhlm", q, k) / jnp.sqrt(self.head_dim)
        if mask is not None:
            logits = jnp.where(mask, logits, -1e9)
        probs = jax.nn.softmax(logits, axis=-1)
        y = jnp.einsum("bhlm,bmhd->blhd", probs, v)
        return nn.DenseGeneral(x.shape[-1], axis=(-2, -1), name="out")(y)
