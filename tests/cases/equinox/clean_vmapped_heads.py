# case: clean_vmapped_heads expect: clean
# proved: yes
import equinox as eqx
import jax
import jax.numpy as jnp


def weights_of(query, key, mask=None):
    query = query / jnp.sqrt(query.shape[-1])
    logits = jnp.einsum("sd,Sd->sS", query, key)
    if mask is not None:
        logits = jnp.where(mask, logits, jnp.finfo(logits.dtype).min)
    return jax.nn.softmax(logits)


def read(query, key, value):
    return jnp.einsum("sS,Sd->sd", weights_of(query, key), value)


class Vmapped(eqx.Module):
    q: eqx.nn.Linear
    k: eqx.nn.Linear
    v: eqx.nn.Linear
    heads: int = eqx.field(static=True)

    def __init__(self, width, heads, *, key):
        a, b, c = jax.random.split(key, 3)
        self.q, self.k, self.v = eqx.nn.Linear(width, width, key=a), eqx.nn.Linear(width, width, key=b), eqx.nn.Linear(width, width, key=c)
        self.heads = heads

    def __call__(self, x):
        n, c = x.shape
        q, k, v = (jax.vmap(f)(x).reshape(n, self.heads, -1) for f in (self.q, self.k, self.v))
        return jax.vmap(read, in_axes=1, out_axes=1)(q, k, v).reshape(n, c)
