# case: clean_builtin_dot_product expect: clean
# proved: yes
import jax
import jax.numpy as jnp


def layer(params, x):
    b, t, d = x.shape
    q = jnp.einsum("btd,dnh->btnh", x, params["q"])
    k = jnp.einsum("btd,dnh->btnh", x, params["k"])
    v = jnp.einsum("btd,dnh->btnh", x, params["v"])
    y = jax.nn.dot_product_attention(q, k, v, is_causal=True)
    return jnp.einsum("btnh,nhd->btd", y, params["o"])
