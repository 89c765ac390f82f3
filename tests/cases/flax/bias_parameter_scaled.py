# case: bias_parameter_scaled expect: scaled-mask-or-bias line: 17
import jax.numpy as jnp
from flax import linen as nn


class TableScaled(nn.Module):
    heads: int
    size: int
    d: int

    @nn.compact
    def __call__(self, x):
        b, n, c = x.shape
        q, k, v = (nn.Dense(self.heads * self.d)(x).reshape(b, n, self.heads, self.d) for _ in range(3))
        table = self.param("table", nn.initializers.zeros, (self.heads, self.size, self.size))
        s = jnp.einsum("bihd,bjhd->bhij", q, k) + table[:, :n, :n]
        s = s / jnp.sqrt(self.d)
        return nn.Dense(c)(jnp.einsum("bhij,bjhd->bihd", nn.softmax(s, axis=-1), v).reshape(b, n, -1))
