# case: clean_rsqrt_and_logsumexp expect: clean
# proved: yes
import jax
import jax.numpy as jnp
from jax import lax


def attend(x, wq, wk, wv):
    q, k, v = x @ wq, x @ wk, x @ wv
    dots = jnp.matmul(q, jnp.swapaxes(k, -1, -2)) * lax.rsqrt(jnp.float32(q.shape[-1]))
    dots = jnp.exp(dots - jax.scipy.special.logsumexp(dots, axis=-1, keepdims=True))
    return jnp.matmul(dots, v)
