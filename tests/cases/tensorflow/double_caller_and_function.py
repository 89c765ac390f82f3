# case: double_caller_and_function expect: double-scale line: 19 alt: 7,18
import tensorflow as tf


def dot(q, k, v):
    d = tf.cast(tf.shape(k)[-1], tf.float32)
    logits = tf.matmul(q, k, transpose_b=True) / tf.sqrt(d)
    return tf.matmul(tf.nn.softmax(logits), v)


class Again(tf.keras.layers.Layer):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.q, self.k, self.v = (tf.keras.layers.Dense(width) for _ in range(3))

    def call(self, x):
        q = self.q(x) * self.width**-0.5
        return dot(q, self.k(x), self.v(x))
