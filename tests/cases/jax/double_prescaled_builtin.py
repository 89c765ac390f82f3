# case: double_prescaled_builtin expect: double-scale line: 10 alt: 7
import jax
import jax.numpy as jnp


def layer(x, wq, wk, wv):
    q = jnp.einsum("btd,dnh->btnh", x, wq) * wq.shape[-1] ** -0.5
    k = jnp.einsum("btd,dnh->btnh", x, wk)
    v = jnp.einsum("btd,dnh->btnh", x, wv)
    return jax.nn.dot_product_attention(q, k, v)
