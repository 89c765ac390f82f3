# case: clean_attribute_scale expect: clean
# proved: yes
import equinox as eqx
import jax
import jax.numpy as jnp


class Tokens(eqx.Module):
    qkv: eqx.nn.Linear
    out: eqx.nn.Linear
    heads: int
    scale: float

    def __init__(self, dim, heads, *, key):
        one, two = jax.random.split(key)
        self.qkv = eqx.nn.Linear(dim, 3 * dim, key=one)
        self.out = eqx.nn.Linear(dim, dim, key=two)
        self.heads = heads
        self.scale = (dim // heads) ** -0.5

    def __call__(self, x):
        n, c = x.shape
        qkv = jax.vmap(self.qkv)(x).reshape(n, 3, self.heads, c // self.heads).transpose(1, 2, 0, 3)
        q, k, v = qkv[0], qkv[1], qkv[2]
        w = jax.nn.softmax((q @ k.transpose(0, 2, 1)) * self.scale, axis=-1)
        return jax.vmap(self.out)((w @ v).transpose(1, 0, 2).reshape(n, c))
