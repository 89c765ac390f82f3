# case: clean_scale_query_method expect: clean
# proved: yes
import haiku as hk
import jax
import jax.numpy as jnp


class Methodical(hk.Module):
    def __init__(self, heads, dim_per_head, name=None):
        super().__init__(name=name)
        self.heads, self.dim_per_head = heads, dim_per_head

    def _scale_query(self, query):
        return query * (self.dim_per_head**-0.5)

    def __call__(self, x):
        lead = x.shape[:-1]
        q, k, v = (
            hk.Linear(self.heads * self.dim_per_head, with_bias=False, name=n)(x).reshape(*lead, self.heads, self.dim_per_head)
            for n in ("q", "k", "v")
        )
        q = self._scale_query(q)
        logits = jnp.einsum("BTNH,BSNH->BNTS", q, k)
        return jnp.einsum("BNTS,BSNH->BTNH", jax.nn.softmax(logits, axis=-1), v)
