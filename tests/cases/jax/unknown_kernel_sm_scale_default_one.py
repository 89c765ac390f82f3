# case: unknown_kernel_sm_scale_default_one expect: clean
import jax
import jax.numpy as jnp


def mha_reference(q, k, v, ab=None, *, causal=False, sm_scale: float = 1.0):
    """The caller says what the factor is."""
    logits = jnp.einsum("bhqc,bhkc->bhqk", q, k)
    if ab is not None:
        logits += ab
    if sm_scale != 1.0:
        logits *= sm_scale
    if causal:
        n = q.shape[2]
        logits += jnp.where(jnp.tril(jnp.ones((n, n), dtype=bool)), 0.0, -1e30)
    m = logits.max(axis=-1)
    e = jnp.exp(logits - m[..., None])
    return jnp.einsum("bhqk,bhkc->bhqc", e / e.sum(axis=-1)[..., None], v)
