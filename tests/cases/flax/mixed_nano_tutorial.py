# case: mixed_nano_tutorial expect: scrambled-heads line: 19 alt: 20,21,26
# case: mixed_nano_tutorial expect: wrong-dim-scale line: 22
# case: mixed_nano_tutorial expect: multiplicative-mask line: 24
import jax.numpy as jnp
from flax import linen as nn


class Novice(nn.Module):
    width: int
    heads: int

    def setup(self):
        self.to_q, self.to_k, self.to_v = (nn.Dense(self.width) for _ in range(3))

    def __call__(self, x, mask=None):
        q, k, v = self.to_q(x), self.to_k(x), self.to_v(x)
        wide = k.shape[-1]
        d = self.width // self.heads
        q = jnp.reshape(q, (q.shape[0], self.heads, q.shape[1], d))
        k = jnp.reshape(k, (k.shape[0], self.heads, k.shape[1], d))
        v = jnp.reshape(v, (v.shape[0], self.heads, v.shape[1], d))
        s = jnp.matmul(q, k.swapaxes(-1, -2)) / jnp.sqrt(wide)
        if mask is not None:
            s = s * mask
        y = jnp.matmul(nn.softmax(s, axis=-1), v)
        return jnp.reshape(y, x.shape[:2] + (self.width,))
