# case: scrambled_reshape expect: scrambled-heads line: 13 alt: 14,15,17
import tensorflow as tf


class Mixed(tf.keras.layers.Layer):
    def __init__(self, width, heads):
        super().__init__()
        self.width, self.heads, self.d = width, heads, width // heads
        self.q, self.k, self.v = (tf.keras.layers.Dense(width) for _ in range(3))

    def call(self, x):
        b, n = tf.shape(x)[0], tf.shape(x)[1]
        q = tf.reshape(self.q(x), [b, self.heads, n, self.d])
        k = tf.reshape(self.k(x), [b, self.heads, n, self.d])
        v = tf.reshape(self.v(x), [b, self.heads, n, self.d])
        p = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / self.d**0.5)
        return tf.reshape(tf.matmul(p, v), [b, n, self.width])
