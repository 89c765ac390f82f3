# case: clean_static_shape_value expect: clean
# proved: yes
import math

import tensorflow as tf


def split_heads(t, h):
    b, n, d = t.shape
    return tf.transpose(tf.reshape(t, [b, n, h, d // h]), [0, 2, 1, 3])


def masked(queries, keys, values, mask):
    s = tf.matmul(queries, keys, transpose_b=True)
    s /= math.sqrt(keys.get_shape().as_list()[-1])
    s += (1.0 - mask) * -1e9
    return tf.matmul(tf.nn.softmax(s), values)


def layer(x, wq, wk, wv, heads, mask):
    q, k, v = split_heads(x @ wq, heads), split_heads(x @ wk, heads), split_heads(x @ wv, heads)
    return masked(q, k, v, mask)
