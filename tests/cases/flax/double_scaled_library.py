# case: double_scaled_library expect: double-scale line: 14 alt: 13
import jax.numpy as jnp
from flax import linen as nn


class TwiceLibrary(nn.Module):
    heads: int
    head_dim: int

    @nn.compact
    def __call__(self, x):
        dense = lambda name: nn.DenseGeneral((self.heads, self.head_dim), name=name)
        q = dense("q")(x) / jnp.sqrt(self.head_dim)
        y = nn.dot_product_attention(q, dense("k")(x), dense("v")(x))
        return nn.DenseGeneral(x.shape[-1], axis=(-2, -1))(y)
