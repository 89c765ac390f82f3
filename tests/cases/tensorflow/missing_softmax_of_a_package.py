# case: missing_softmax_of_a_package expect: missing-scale line: 16 alt: 16,17
import tensorflow as tf

from ..compat import keras, stable_softmax


class Attention(keras.layers.Layer):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.q, self.k, self.v = (keras.layers.Dense(width) for _ in range(3))

    def call(self, x):
        b, n = tf.shape(x)[0], tf.shape(x)[1]
        q, k, v = (tf.transpose(tf.reshape(f(x), (b, n, self.heads, self.d)), (0, 2, 1, 3)) for f in (self.q, self.k, self.v))
        scores = tf.matmul(q, k, transpose_b=True)
        return tf.matmul(stable_softmax(logits=scores, axis=-1), v)
