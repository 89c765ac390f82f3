# case: missing_params_dict expect: missing-scale line: 10 alt: 11
import jax
import jax.numpy as jnp


def attention(params, x):
    q = jnp.einsum("btd,dhk->bhtk", x, params["wq"])
    k = jnp.einsum("btd,dhk->bhtk", x, params["wk"])
    v = jnp.einsum("btd,dhk->bhtk", x, params["wv"])
    logits = jnp.einsum("bhtk,bhsk->bhts", q, k)
    weights = jax.nn.softmax(logits, axis=-1)
    return jnp.einsum("bhts,bhsk->bthk", weights, v)
