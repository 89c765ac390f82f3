# case: wrongdim_full_key_before_split expect: wrong-dim-scale line: 16 alt: 18
import math

import tensorflow as tf


def split_heads(t, h):
    b, n, d = t.shape
    return tf.transpose(tf.reshape(t, [b, n, h, d // h]), [0, 2, 1, 3])


def layer(x, heads, units):
    q = tf.keras.layers.Dense(units)(x)
    k = tf.keras.layers.Dense(units)(x)
    v = tf.keras.layers.Dense(units)(x)
    scale = 1.0 / math.sqrt(units)
    q, k, v = split_heads(q, heads), split_heads(k, heads), split_heads(v, heads)
    scores = tf.multiply(tf.matmul(q, k, transpose_b=True), scale)
    return tf.matmul(tf.nn.softmax(scores), v)
