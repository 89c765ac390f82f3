# case: missing_linear expect: missing-scale line: 14 alt: 15
import haiku as hk
import jax
import jax.numpy as jnp


class Unscaled(hk.Module):
    def __init__(self, d, name=None):
        super().__init__(name=name)
        self.d = d

    def __call__(self, x):
        q, k, v = hk.Linear(self.d)(x), hk.Linear(self.d)(x), hk.Linear(x.shape[-1])(x)
        logits = jnp.einsum("btd,bsd->bts", q, k)
        return jax.nn.softmax(logits, axis=-1) @ v
