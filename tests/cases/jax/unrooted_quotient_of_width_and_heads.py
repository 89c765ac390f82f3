# case: unrooted_quotient_of_width_and_heads expect: unrooted-scale line: 19 alt: 12
import jax
import jax.numpy as jnp
from flax import nnx


class PackedAttention(nnx.Module):
    def __init__(self, dim, num_heads, split, *, rngs):
        self.qkv = nnx.Linear(dim, 3 * dim, rngs=rngs)
        self.split = split
        self.num_heads = num_heads
        self.head_dim = dim // num_heads

    def __call__(self, x, lengths):
        q, k, v = self.split(self.qkv(x), self.num_heads)
        chunks = [jnp.split(one, lengths, axis=2) for one in (q, k, v)]
        outputs = []
        for query, key, value in zip(*chunks, strict=True):
            logits = jnp.matmul(query, key.swapaxes(-1, -2)) / self.head_dim
            outputs.append(jnp.matmul(jax.nn.softmax(logits, axis=-1), value))
        return jnp.concatenate(outputs, axis=2)
