# case: intended_luong expect: clean
import jax.numpy as jnp
from flax import linen as nn


class Decoder(nn.Module):
    hidden: int

    @nn.compact
    def __call__(self, state, memory):
        q = nn.Dense(memory.shape[-1], use_bias=False)(state)
        e = jnp.einsum("bqd,bkd->bqk", q, memory)
        a = nn.softmax(e, axis=-1)
        c = jnp.einsum("bqk,bkd->bqd", a, memory)
        return jnp.tanh(nn.Dense(self.hidden)(jnp.concatenate([c, state], axis=-1)))
