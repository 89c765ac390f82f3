# case: unstable_exp expect: unstable-softmax line: 7 alt: 8
import jax.numpy as jnp


def attention(x, wq, wk, wv):
    q, k, v = x @ wq, x @ wk, x @ wv
    e = jnp.exp(q @ jnp.swapaxes(k, -1, -2) / jnp.sqrt(q.shape[-1]))
    return (e / e.sum(axis=-1, keepdims=True)) @ v
