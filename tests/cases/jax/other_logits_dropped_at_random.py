# case: other_logits_dropped_at_random expect: clean
import jax
import jax.numpy as jnp
from jax import lax


def attention(query, key, value, rng, dropout):
    """Logits that are dropped at random hide no key on purpose."""
    scores = jnp.einsum("bhqd,bhkd->bhqk", query, key) * query.shape[-1] ** -0.5
    keep = 1.0 - dropout
    mask = jax.random.bernoulli(rng, p=keep, shape=scores.shape)
    mask = jnp.broadcast_to(mask, scores.shape)
    scores = lax.select(mask, scores / keep, jnp.zeros_like(scores))
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, axis=-1), value)
