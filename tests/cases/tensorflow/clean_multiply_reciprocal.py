# case: clean_multiply_reciprocal expect: clean
# proved: yes
import math

import tensorflow as tf


def transpose_for_scores(tensor, batch, heads, length, width):
    tensor = tf.reshape(tensor, [batch, length, heads, width])
    return tf.transpose(tensor, [0, 2, 1, 3])


def attention_layer(x, heads=4, size_per_head=16):
    batch, length, width = x.shape
    flat = tf.reshape(x, [-1, width])
    query = tf.keras.layers.Dense(heads * size_per_head, name="query")(flat)
    key = tf.keras.layers.Dense(heads * size_per_head, name="key")(flat)
    value = tf.keras.layers.Dense(heads * size_per_head, name="value")(flat)
    query = transpose_for_scores(query, batch, heads, length, size_per_head)
    key = transpose_for_scores(key, batch, heads, length, size_per_head)
    value = transpose_for_scores(value, batch, heads, length, size_per_head)
    scores = tf.matmul(query, key, transpose_b=True)
    scores = tf.multiply(scores, 1.0 / math.sqrt(float(size_per_head)))
    return tf.matmul(tf.nn.softmax(scores), value)
