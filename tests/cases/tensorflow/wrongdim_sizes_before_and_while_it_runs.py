# case: wrongdim_sizes_before_and_while_it_runs expect: wrong-dim-scale line: 25
"""Sizes that are read where they are known before the program runs, else when it does: each has its place."""

import tensorflow as tf


def shape_list(x):
    static = x.shape.as_list()
    dynamic = tf.shape(x)
    return [dynamic[i] if s is None else s for i, s in enumerate(static)]


def split_heads(x, num_heads):
    batch_size, _, hidden_size = shape_list(x)
    head_size = hidden_size / num_heads
    head_size = tf.cast(head_size, tf.int32)
    x = tf.reshape(x, [batch_size, -1, num_heads, head_size])
    return tf.transpose(x, perm=[0, 2, 1, 3])


def scaled_scores(query, key, num_heads):
    query_layer = split_heads(query, num_heads)
    key_layer = split_heads(key, num_heads)
    attention_scores = tf.matmul(query_layer, key_layer, transpose_b=True)
    return attention_scores * tf.math.rsqrt(tf.cast(shape_list(key)[-1], tf.float32))


class Attention(tf.keras.layers.Layer):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query = tf.keras.layers.Dense(width)
        self.key = tf.keras.layers.Dense(width)
        self.value = tf.keras.layers.Dense(width)

    def call(self, x):
        v = split_heads(self.value(x), self.heads)
        scores = scaled_scores(self.query(x), self.key(x), self.heads)
        return tf.matmul(tf.nn.softmax(scores, axis=-1), v)
