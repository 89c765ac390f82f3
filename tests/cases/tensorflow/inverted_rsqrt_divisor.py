# case: inverted_rsqrt_divisor expect: inverted-scale line: 13
import tensorflow as tf


class Divides(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = units
        self.q, self.k, self.v = (tf.keras.layers.Dense(units) for _ in range(3))

    def call(self, x):
        s = tf.matmul(self.q(x), self.k(x), transpose_b=True)
        s = s / tf.math.rsqrt(tf.cast(self.units, tf.float32))
        return tf.matmul(tf.nn.softmax(s, axis=-1), self.v(x))
