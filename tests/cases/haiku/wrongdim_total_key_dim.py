# case: wrongdim_total_key_dim expect: wrong-dim-scale line: 21 alt: 24
import haiku as hk
import jax
import jax.numpy as jnp


class Total(hk.Module):
    """key_dim is the width of all heads together, and is not divided before its root is taken."""

    def __init__(self, num_head, key_dim, name=None):
        super().__init__(name=name)
        self.num_head, self.key_dim = num_head, key_dim

    def __call__(self, x):
        per_head = self.key_dim // self.num_head
        shape = (x.shape[-1], self.num_head, per_head)
        init = hk.initializers.VarianceScaling()
        q_w = hk.get_parameter("q", shape=shape, init=init)
        k_w = hk.get_parameter("k", shape=shape, init=init)
        v_w = hk.get_parameter("v", shape=shape, init=init)
        q = jnp.einsum("bqa,ahc->bqhc", x, q_w) * self.key_dim ** (-0.5)
        k = jnp.einsum("bka,ahc->bkhc", x, k_w)
        v = jnp.einsum("bka,ahc->bkhc", x, v_w)
        weights = jax.nn.softmax(jnp.einsum("bqhc,bkhc->bhqk", q, k))
        return jnp.einsum("bhqk,bkhc->bqhc", weights, v)
