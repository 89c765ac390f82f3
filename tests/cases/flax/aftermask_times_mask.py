# case: aftermask_times_mask expect: mask-after-softmax line: 14
import jax.numpy as jnp
from flax import linen as nn


class MaskedLate(nn.Module):
    d: int

    @nn.compact
    def __call__(self, x, lengths):
        q, k, v = nn.Dense(self.d)(x), nn.Dense(self.d)(x), nn.Dense(self.d)(x)
        keep = jnp.arange(x.shape[1])[None] < lengths[:, None]
        p = nn.softmax(jnp.einsum("bid,bjd->bij", q, k) / jnp.sqrt(self.d), axis=-1)
        p = p * keep[:, None, :]
        return p @ v
