# case: clean_stack_of_split_heads expect: clean
# proved: yes
import tensorflow as tf


class StackedHeads(tf.keras.layers.Layer):
    """Heads become an axis of their own in front."""

    def __init__(self, embedding_size, head_num):
        super().__init__()
        self.head_num = head_num
        self.att_embedding_size = embedding_size // head_num
        self.wq, self.wk, self.wv = (tf.keras.layers.Dense(embedding_size, use_bias=False) for _ in range(3))

    def call(self, inputs):
        querys, keys, values = self.wq(inputs), self.wk(inputs), self.wv(inputs)
        querys = tf.stack(tf.split(querys, self.head_num, axis=2))
        keys = tf.stack(tf.split(keys, self.head_num, axis=2))
        values = tf.stack(tf.split(values, self.head_num, axis=2))
        product = tf.matmul(querys, keys, transpose_b=True)
        product /= self.att_embedding_size**0.5
        result = tf.matmul(tf.nn.softmax(product), values)
        return tf.concat(tf.unstack(result), axis=-1)
