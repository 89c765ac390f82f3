# case: clean_scan_over_blocks_of_keys expect: clean
# proved: yes
import functools
import math

import jax
import jax.numpy as jnp
from jax import lax


def block_step(query, carry, kv):
    total, norm, top = carry
    key, value = kv
    s = jnp.einsum("qhd,khd->qhk", query, key)
    new_top = jnp.maximum(top, s.max(axis=-1))
    e = jnp.exp(s - new_top[..., None])
    fix = jnp.exp(top - new_top)
    total = total * fix[..., None] + jnp.einsum("qhk,khf->qhf", e, value)
    return (total, norm * fix + e.sum(axis=-1), new_top), None


def blockwise(query, key, value, size=8):
    query = query / math.sqrt(query.shape[-1])
    n, h, d = query.shape
    keys = key.reshape(-1, size, h, d)
    values = value.reshape(-1, size, h, d)
    start = (jnp.zeros_like(query), jnp.zeros((n, h)), jnp.full((n, h), -jnp.inf))
    (total, norm, _), _ = lax.scan(functools.partial(block_step, query), start, (keys, values))
    return total / norm[..., None]
