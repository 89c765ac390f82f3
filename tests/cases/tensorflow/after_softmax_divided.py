# case: after_softmax_divided expect: scale-after-softmax line: 13 alt: 12
import tensorflow as tf


class Afterwards(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = units
        self.q, self.k, self.v = (tf.keras.layers.Dense(units) for _ in range(3))

    def call(self, x):
        p = tf.nn.softmax(tf.matmul(self.q(x), self.k(x), transpose_b=True))
        p = p / tf.sqrt(tf.cast(self.units, tf.float32))
        return tf.matmul(p, self.v(x))
