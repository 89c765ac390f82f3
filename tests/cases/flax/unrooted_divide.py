# case: unrooted_divide expect: unrooted-scale line: 13
import jax.numpy as jnp
from flax import linen as nn


class PlainDivide(nn.Module):
    d_k: int

    @nn.compact
    def __call__(self, x):
        q, k = nn.Dense(self.d_k)(x), nn.Dense(self.d_k)(x)
        v = nn.Dense(x.shape[-1])(x)
        w = nn.softmax(q @ k.swapaxes(-1, -2) / self.d_k, axis=-1)
        return w @ v
