# case: clean_method_of_same_class expect: clean
# proved: yes
import jax.numpy as jnp
from flax import linen as nn


class Methods(nn.Module):
    d_model: int
    n_heads: int

    def setup(self):
        self.d_k = self.d_model // self.n_heads
        self.q, self.k, self.v, self.o = (nn.Dense(self.d_model) for _ in range(4))

    def cut(self, x):
        b, t, _ = x.shape
        return x.reshape(b, t, self.n_heads, self.d_k).transpose(0, 2, 1, 3)

    def weigh(self, query, keys, values):
        x = jnp.einsum("...ik,...jk->...ij", query, keys) / jnp.sqrt(self.d_k)
        return jnp.matmul(nn.softmax(x), values)

    def __call__(self, x):
        y = self.weigh(self.cut(self.q(x)), self.cut(self.k(x)), self.cut(self.v(x)))
        b, h, t, d = y.shape
        return self.o(y.transpose(0, 2, 1, 3).reshape(b, t, h * d))
