# case: multmask_scores_times_mask expect: multiplicative-mask line: 14
import tensorflow as tf


class Times(tf.keras.layers.Layer):
    def __init__(self, d_k):
        super().__init__()
        self.d_k = d_k
        self.q, self.k, self.v = (tf.keras.layers.Dense(d_k) for _ in range(3))

    def call(self, x, lengths):
        mask = tf.sequence_mask(lengths, tf.shape(x)[1], dtype=tf.float32)
        score = tf.matmul(self.q(x), self.k(x), transpose_b=True) / tf.sqrt(float(self.d_k))
        score *= mask[:, tf.newaxis, :]
        return tf.matmul(tf.nn.softmax(score), self.v(x))
