# case: clean_setup_scale expect: clean
# proved: yes
import jax.numpy as jnp
from einops import rearrange
from flax import linen as nn


class Reader(nn.Module):
    dim: int
    heads: int = 4
    dim_head: int = 16

    def setup(self):
        inner = self.dim_head * self.heads
        self.scale = self.dim_head**-0.5
        self.to_qkv = nn.Dense(inner * 3, use_bias=False)
        self.to_out = nn.Dense(self.dim, use_bias=False)

    def __call__(self, x):
        h = self.heads
        q, k, v = jnp.split(self.to_qkv(x), 3, axis=-1)
        q, k, v = map(lambda t: rearrange(t, "b n (h d) -> b h n d", h=h), (q, k, v))
        q = q * self.scale
        sim = jnp.einsum("b h i d, b h j d -> b h i j", q, k)
        attn = nn.softmax(sim, axis=-1)
        return self.to_out(rearrange(jnp.einsum("b h i j, b h j d -> b h i d", attn, v), "b h n d -> b n (h d)"))
