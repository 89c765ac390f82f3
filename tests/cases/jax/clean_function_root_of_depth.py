# case: clean_function_root_of_depth expect: clean
# proved: yes
import jax
import jax.numpy as jnp


def attend(query, key, value, mask=None):
    """query, key, value: (..., heads, time, depth)"""
    depth = query.shape[-1]
    query = query / jnp.sqrt(depth).astype(query.dtype)
    logits = jnp.einsum("...td,...sd->...ts", query, key)
    if mask is not None:
        logits = jnp.where(mask, logits, jnp.finfo(logits.dtype).min)
    weights = jax.nn.softmax(logits)
    return jnp.einsum("...ts,...sd->...td", weights, value)


def block(params, x):
    q, k, v = (jnp.einsum("btd,dhk->bhtk", x, params[name]) for name in ("q", "k", "v"))
    return attend(q, k, v)
