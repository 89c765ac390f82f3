# case: wrongdim_model_width_function expect: wrong-dim-scale line: 10
import jax
import jax.numpy as jnp


def attention(x, wq, wk, wv, n_heads):
    b, t, d_model = x.shape
    cut = lambda y: y.reshape(b, t, n_heads, d_model // n_heads).transpose(0, 2, 1, 3)
    q, k, v = cut(x @ wq), cut(x @ wk), cut(x @ wv)
    scores = q @ k.swapaxes(-1, -2) / jnp.sqrt(d_model)
    return (jax.nn.softmax(scores, axis=-1) @ v).transpose(0, 2, 1, 3).reshape(b, t, d_model)
