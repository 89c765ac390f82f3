# case: axis_queries expect: softmax-axis line: 9
import jax
import jax.numpy as jnp


def attention(x, wq, wk, wv):
    q, k, v = x @ wq, x @ wk, x @ wv
    s = jnp.einsum("btd,bsd->bts", q, k) / jnp.sqrt(q.shape[-1])
    p = jax.nn.softmax(s, axis=1)
    return jnp.einsum("bts,bsd->btd", p, v)
