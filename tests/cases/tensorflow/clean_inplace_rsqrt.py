# case: clean_inplace_rsqrt expect: clean
# proved: yes
import tensorflow as tf


class Sparse(tf.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.per_head = heads, width // heads
        self.q, self.k, self.v = (tf.keras.layers.Dense(width, use_bias=False) for _ in range(3))

    def __call__(self, x):
        b, t, c = x.shape
        q, k, v = (tf.reshape(f(x), [b, t, self.heads, self.per_head]) for f in (self.q, self.k, self.v))
        logits = tf.einsum("BTNH,BSNH->BNTS", q, k)
        logits *= tf.math.rsqrt(tf.cast(self.per_head, q.dtype))
        probs = tf.nn.softmax(logits, name="attention_weights")
        return tf.reshape(tf.einsum("BNTS,BSNH->BTNH", probs, v), [b, t, c])
