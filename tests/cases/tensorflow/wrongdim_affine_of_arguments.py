# case: wrongdim_affine_of_arguments expect: wrong-dim-scale line: 23
"""The bias is added by a function; the root is of the whole width."""

import math

import tensorflow as tf


class Attention:
    def __init__(self, heads, q_weight, k_weight, v_weight, q_bias, k_bias):
        self.heads, self.q_bias, self.k_bias = heads, q_bias, k_bias
        self.q_weight, self.k_weight, self.v_weight = q_weight, k_weight, v_weight

    def __call__(self, x):
        steps, batch, width = x.shape
        head_dim = width // self.heads
        q = tf.nn.bias_add(tf.matmul(x, self.q_weight), self.q_bias)
        k = tf.nn.bias_add(tf.matmul(x, self.k_weight), self.k_bias)
        v = tf.matmul(x, self.v_weight)
        q = tf.transpose(tf.reshape(q, (steps, batch * self.heads, head_dim)), (1, 0, 2))
        k = tf.transpose(tf.reshape(k, (steps, batch * self.heads, head_dim)), (1, 0, 2))
        v = tf.transpose(tf.reshape(v, (steps, batch * self.heads, head_dim)), (1, 0, 2))
        weights = tf.nn.softmax(tf.matmul(q / math.sqrt(width), k, transpose_b=True))
        return tf.reshape(tf.transpose(tf.matmul(weights, v), (1, 0, 2)), (steps, batch, width))
