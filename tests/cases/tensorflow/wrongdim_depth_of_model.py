# case: wrongdim_depth_of_model expect: wrong-dim-scale line: 17
import tensorflow as tf


class OfModel(tf.keras.layers.Layer):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.d_model, self.num_heads, self.depth = d_model, num_heads, d_model // num_heads
        self.wq, self.wk, self.wv = (tf.keras.layers.Dense(d_model) for _ in range(3))

    def split_heads(self, x):
        x = tf.reshape(x, (tf.shape(x)[0], -1, self.num_heads, self.depth))
        return tf.transpose(x, perm=[0, 2, 1, 3])

    def call(self, x):
        q, k, v = self.split_heads(self.wq(x)), self.split_heads(self.wk(x)), self.split_heads(self.wv(x))
        logits = tf.matmul(q, k, transpose_b=True) / tf.math.sqrt(tf.cast(self.d_model, tf.float32))
        return tf.matmul(tf.nn.softmax(logits, axis=-1), v)
