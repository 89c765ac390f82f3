# case: clean_linear_reshape expect: clean
# proved: yes
import haiku as hk
import jax
import jax.numpy as jnp


class Heads(hk.Module):
    def __init__(self, num_heads, key_size, name=None):
        super().__init__(name=name)
        self.num_heads, self.key_size = num_heads, key_size

    def _project(self, x, name):
        y = hk.Linear(self.num_heads * self.key_size, name=name)(x)
        return y.reshape((*x.shape[:-1], self.num_heads, self.key_size))

    def __call__(self, query, key, value):
        q, k, v = self._project(query, "q"), self._project(key, "k"), self._project(value, "v")
        logits = jnp.einsum("...thd,...Thd->...htT", q, k)
        logits = logits / jnp.sqrt(self.key_size).astype(key.dtype)
        weights = jax.nn.softmax(logits)
        return jnp.einsum("...htT,...Thd->...thd", weights, v)
