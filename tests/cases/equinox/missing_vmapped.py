# case: missing_vmapped expect: missing-scale line: 20 alt: 21
import equinox as eqx
import jax
import jax.numpy as jnp


class Forgot(eqx.Module):
    q: eqx.nn.Linear
    k: eqx.nn.Linear
    v: eqx.nn.Linear

    def __init__(self, width, d, *, key):
        a, b, c = jax.random.split(key, 3)
        self.q = eqx.nn.Linear(width, d, key=a)
        self.k = eqx.nn.Linear(width, d, key=b)
        self.v = eqx.nn.Linear(width, width, key=c)

    def __call__(self, x):
        q, k, v = jax.vmap(self.q)(x), jax.vmap(self.k)(x), jax.vmap(self.v)(x)
        logits = q @ k.T
        return jax.nn.softmax(logits, axis=-1) @ v
