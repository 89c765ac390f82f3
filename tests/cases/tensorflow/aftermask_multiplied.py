# case: aftermask_multiplied expect: mask-after-softmax line: 14
import tensorflow as tf


class Late(tf.keras.layers.Layer):
    def __init__(self, d_k):
        super().__init__()
        self.d_k = d_k
        self.q, self.k, self.v = (tf.keras.layers.Dense(d_k) for _ in range(3))

    def call(self, x, lengths):
        mask = tf.sequence_mask(lengths, tf.shape(x)[1], dtype=tf.float32)
        w = tf.nn.softmax(tf.matmul(self.q(x), self.k(x), transpose_b=True) / tf.sqrt(float(self.d_k)))
        w = w * mask[:, tf.newaxis, :]
        return tf.matmul(w, self.v(x))
