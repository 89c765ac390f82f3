# case: clean_query_scaled_by_caller expect: clean
# proved: yes
import tensorflow as tf


def dot_product_attention(q, k, v, bias=None):
    """The caller scales q."""
    logits = tf.matmul(q, k, transpose_b=True)
    if bias is not None:
        logits += bias
    return tf.matmul(tf.nn.softmax(logits), v)


class Caller(tf.keras.layers.Layer):
    def __init__(self, total_key_depth, num_heads):
        super().__init__()
        self.num_heads, self.total = num_heads, total_key_depth
        self.q, self.k, self.v = (tf.keras.layers.Dense(total_key_depth, use_bias=False) for _ in range(3))

    def split(self, x):
        b, n = tf.shape(x)[0], tf.shape(x)[1]
        return tf.transpose(tf.reshape(x, [b, n, self.num_heads, self.total // self.num_heads]), [0, 2, 1, 3])

    def call(self, x):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        key_depth_per_head = self.total // self.num_heads
        q *= key_depth_per_head**-0.5
        return dot_product_attention(q, k, v)
