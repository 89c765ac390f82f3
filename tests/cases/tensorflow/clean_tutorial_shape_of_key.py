# case: clean_tutorial_shape_of_key expect: clean
# proved: yes
import tensorflow as tf


class Tutorial(tf.keras.layers.Layer):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads, self.d_model = num_heads, d_model
        assert d_model % num_heads == 0
        self.depth = d_model // num_heads
        self.wq, self.wk, self.wv = (tf.keras.layers.Dense(d_model) for _ in range(3))

    def split_heads(self, x, batch_size):
        x = tf.reshape(x, (batch_size, -1, self.num_heads, self.depth))
        return tf.transpose(x, perm=[0, 2, 1, 3])

    @staticmethod
    def dot(q, k, v, mask):
        product = tf.matmul(q, k, transpose_b=True)
        dk = tf.cast(tf.shape(k)[-1], tf.float32)
        logits = product / tf.math.sqrt(dk)
        if mask is not None:
            logits += mask * -1e9
        return tf.matmul(tf.nn.softmax(logits, axis=-1), v)

    def call(self, v, k, q, mask=None):
        n = tf.shape(q)[0]
        q, k, v = self.split_heads(self.wq(q), n), self.split_heads(self.wk(k), n), self.split_heads(self.wv(v), n)
        out = tf.transpose(self.dot(q, k, v, mask), perm=[0, 2, 1, 3])
        return tf.reshape(out, (n, -1, self.d_model))
