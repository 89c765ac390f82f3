# case: clean_scale_none_argument expect: clean
# proved: yes
import jax
import jax.numpy as jnp


def core(q, k, v, *, scale=None, bias=None):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    logits = jnp.einsum("BTNH,BSNH->BNTS", q, k, preferred_element_type=jnp.float32)
    logits *= jnp.array(scale, dtype=logits.dtype)
    if bias is not None:
        logits = logits + bias
    probs = jax.nn.softmax(logits, axis=-1).astype(v.dtype)
    return jnp.einsum("BNTS,BSNH->BTNH", probs, v)


def layer(params, x):
    b, t, _ = x.shape
    q, k, v = ((x @ params[n]).reshape(b, t, -1, params["head_dim"]) for n in "qkv")
    return core(q, k, v)
