# case: unknown_kernel_sm_scale_default_one expect: clean
import jax
import jax.numpy as jnp


def plain_reference(q, k, v, ab=None, *, causal=False, sm_scale: float = 1.0):
    """The caller says what the factor is."""
    dots = jnp.einsum("nhid,nhjd->nhij", q, k)
    if ab is not None:
        dots += ab
    if sm_scale != 1.0:
        dots *= sm_scale
    if causal:
        n = q.shape[2]
        dots += jnp.where(jnp.tril(jnp.ones((n, n), dtype=bool)), 0.0, -1e30)
    m = dots.max(axis=-1)
    e = jnp.exp(dots - m[..., None])
    return jnp.einsum("nhij,nhjd->nhid", e / e.sum(axis=-1)[..., None], v)
