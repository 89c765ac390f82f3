# case: axis_wrong_key_axis expect: softmax-axis line: 13
import tensorflow as tf


class Rows(tf.keras.layers.Layer):
    def __init__(self, d_k):
        super().__init__()
        self.d_k = d_k
        self.q, self.k, self.v = (tf.keras.layers.Dense(d_k) for _ in range(3))

    def call(self, x):
        s = tf.matmul(self.q(x), self.k(x), transpose_b=True) / self.d_k**0.5
        return tf.matmul(tf.nn.softmax(s, axis=1), self.v(x))
