# case: scrambled_reshape expect: scrambled-heads line: 16 alt: 17,18,20
import jax.numpy as jnp
from flax import linen as nn


class Reshaped(nn.Module):
    heads: int
    width: int

    def setup(self):
        self.q, self.k, self.v = (nn.Dense(self.width) for _ in range(3))

    def __call__(self, x):
        b, n, _ = x.shape
        d = self.width // self.heads
        q = self.q(x).reshape(b, self.heads, n, d)
        k = self.k(x).reshape(b, self.heads, n, d)
        v = self.v(x).reshape(b, self.heads, n, d)
        p = nn.softmax(q @ k.swapaxes(-1, -2) / jnp.sqrt(d), axis=-1)
        return (p @ v).reshape(b, n, self.width)
