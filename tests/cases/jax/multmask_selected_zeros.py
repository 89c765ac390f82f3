# case: multmask_selected_zeros expect: multiplicative-mask line: 9
import jax
import jax.numpy as jnp
from jax import lax


def attention(query, key, value, mask):
    scores = jnp.einsum("bhqd,bhkd->bhqk", query, key) * query.shape[-1] ** -0.5
    scores = lax.select(mask, scores, jnp.zeros_like(scores))
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, axis=-1), value)
