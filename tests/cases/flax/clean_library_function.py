# case: clean_library_function expect: clean
# proved: yes
import jax.numpy as jnp
from flax import linen as nn


class Library(nn.Module):
    heads: int
    width: int

    @nn.compact
    def __call__(self, x):
        dense = lambda name: nn.DenseGeneral((self.heads, self.width // self.heads), name=name)
        q, k, v = dense("q")(x), dense("k")(x), dense("v")(x)
        y = nn.dot_product_attention(q, k, v)
        return nn.DenseGeneral(self.width, axis=(-2, -1), name="o")(y)
