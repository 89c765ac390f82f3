# case: missing_lambda_builder expect: missing-scale line: 17 alt: 18
import tensorflow as tf


class Builder(tf.keras.layers.Layer):
    def __init__(self, hdims, heads):
        super().__init__()
        self.hdims, self.heads = hdims, heads
        self.q, self.k, self.v = (tf.keras.layers.Dense(hdims) for _ in range(3))

    def cut(self, t):
        b, n = tf.shape(t)[0], tf.shape(t)[1]
        return tf.transpose(tf.reshape(t, [b, n, self.heads, self.hdims // self.heads]), [0, 2, 1, 3])

    def call(self, x):
        query, key, val = self.cut(self.q(x)), self.cut(self.k(x)), self.cut(self.v(x))
        dotp = tf.matmul(query, key, transpose_b=True)
        probs = tf.nn.softmax(dotp)
        return tf.matmul(probs, val)
