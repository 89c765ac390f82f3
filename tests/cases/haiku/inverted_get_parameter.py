# case: inverted_get_parameter expect: inverted-scale line: 25 alt: 21
import haiku as hk
import jax
import jax.numpy as jnp


class Widened(hk.Module):
    def __init__(self, config, output_dim, name="widened"):
        super().__init__(name=name)
        self.config, self.output_dim = config, output_dim

    def __call__(self, q_data, m_data, bias):
        key_dim = self.config.get("key_dim", int(q_data.shape[-1]))
        num_head = self.config["num_head"]
        assert key_dim % num_head == 0
        key_dim = key_dim // num_head
        init = hk.initializers.VarianceScaling()
        q_w = hk.get_parameter("query_w", shape=(q_data.shape[-1], num_head, key_dim), init=init)
        k_w = hk.get_parameter("key_w", shape=(m_data.shape[-1], num_head, key_dim), init=init)
        v_w = hk.get_parameter("value_w", shape=(m_data.shape[-1], num_head, key_dim), init=init)
        q = jnp.einsum("bqa,ahc->bqhc", q_data, q_w) * key_dim**0.5
        k = jnp.einsum("bka,ahc->bkhc", m_data, k_w)
        v = jnp.einsum("bka,ahc->bkhc", m_data, v_w)
        logits = jnp.einsum("bqhc,bkhc->bhqk", q, k) + bias
        return jnp.einsum("bhqk,bkhc->bqhc", jax.nn.softmax(logits), v)
