# case: wrongdim_width expect: wrong-dim-scale line: 21
import equinox as eqx
import jax
import jax.numpy as jnp


class WholeWidth(eqx.Module):
    q: eqx.nn.Linear
    k: eqx.nn.Linear
    v: eqx.nn.Linear
    heads: int

    def __init__(self, width, heads, *, key):
        a, b, c = jax.random.split(key, 3)
        self.q, self.k, self.v = (eqx.nn.Linear(width, width, key=i) for i in (a, b, c))
        self.heads = heads

    def __call__(self, x):
        n, width = x.shape
        q, k, v = (jax.vmap(f)(x).reshape(n, self.heads, width // self.heads).swapaxes(0, 1) for f in (self.q, self.k, self.v))
        s = jnp.einsum("hid,hjd->hij", q, k) / jnp.sqrt(width)
        return jnp.einsum("hij,hjd->ihd", jax.nn.softmax(s, axis=-1), v).reshape(n, width)
