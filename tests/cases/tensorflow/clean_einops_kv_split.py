# case: clean_einops_kv_split expect: clean
# proved: yes
import tensorflow as tf
from einops import rearrange


class Induced(tf.keras.layers.Layer):
    def __init__(self, dim, heads=4, width=16):
        super().__init__()
        self.heads, self.scale = heads, width**-0.5
        self.to_q = tf.keras.layers.Dense(heads * width, use_bias=False)
        self.to_kv = tf.keras.layers.Dense(heads * width * 2, use_bias=False)
        self.to_out = tf.keras.layers.Dense(dim)

    def call(self, inputs, context):
        n_heads, factor = self.heads, self.scale
        q = self.to_q(inputs)
        k, v = tf.split(self.to_kv(context), num_or_size_splits=2, axis=-1)
        q, k, v = map(lambda t: rearrange(t, "b n (h d) -> b h n d", h=n_heads), (q, k, v))
        sim = tf.einsum("b h i d, b h j d -> b h i j", q, k) * factor
        out = tf.einsum("b h i j, b h j d -> b h i d", tf.nn.softmax(sim), v)
        return self.to_out(rearrange(out, "b h n d -> b n (h d)"))
