# case: clean_nnx_style expect: clean
# proved: yes
import jax
import jax.numpy as jnp
from flax import nnx


class Next(nnx.Module):
    def __init__(self, width, heads, *, rngs):
        self.heads, self.head_dim = heads, width // heads
        self.scale = self.head_dim**-0.5
        self.q = nnx.Linear(width, width, rngs=rngs)
        self.k = nnx.Linear(width, width, rngs=rngs)
        self.v = nnx.Linear(width, width, rngs=rngs)

    def __call__(self, x):
        b, t, c = x.shape
        q = self.q(x).reshape(b, t, self.heads, self.head_dim)
        k = self.k(x).reshape(b, t, self.heads, self.head_dim)
        v = self.v(x).reshape(b, t, self.heads, self.head_dim)
        logits = jnp.einsum("bqhd,bkhd->bhqk", q * self.scale, k)
        return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(logits, axis=-1), v).reshape(b, t, c)
