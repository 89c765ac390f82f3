# case: wrongdim_unsplit_key_width expect: wrong-dim-scale line: 25 alt: 19
import jax.numpy as jnp
from flax import linen as nn


class Unsplit(nn.Module):
    """The size is read off the key before its heads are taken apart."""

    hidden_dim: int
    num_heads: int

    def setup(self):
        self.query_map, self.key_map, self.value_map = (nn.Dense(self.hidden_dim) for _ in range(3))

    def __call__(self, x):
        return self.attention(self.query_map(x), self.key_map(x), self.value_map(x))

    def attention(self, query, key, value):
        dim_key = key.shape[-1]
        b, t, _ = query.shape
        head = self.hidden_dim // self.num_heads
        query = query.reshape(b, t, self.num_heads, head).swapaxes(1, 2)
        key = key.reshape(b, t, self.num_heads, head).swapaxes(1, 2)
        value = value.reshape(b, t, self.num_heads, head).swapaxes(1, 2)
        scores = jnp.matmul(query, key.swapaxes(-1, -2)) / jnp.sqrt(dim_key)
        return jnp.matmul(nn.softmax(scores, axis=-1), value).swapaxes(1, 2).reshape(b, t, self.hidden_dim)
