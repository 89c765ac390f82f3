# case: clean_sum_over_edge_types expect: clean
"""Logits of every edge type, times the weight of the type, summed over the types: that sum selects, the product is over the depth.
(In TensorFlow, as in tensor2tensor's message passing.)"""

import tensorflow as tf


def dense_attention(q, k, v, adjacency, types, gates):
    b, n = tf.shape(adjacency)[0], tf.shape(adjacency)[1]
    logits = tf.matmul(tf.tile(tf.expand_dims(q, axis=1), [1, types, 1, 1]), k, transpose_b=True)
    vectors = tf.reshape(tf.matmul(tf.reshape(adjacency, [-1, types]), gates), [b, n, n, types])
    edges = tf.transpose(vectors, [0, 3, 1, 2])
    logits *= edges
    logits = tf.reduce_sum(logits, axis=1)
    logits += tf.cast(tf.equal(tf.reduce_sum(adjacency, axis=-1), 0), tf.float32) * -1e9
    weights = tf.nn.softmax(logits)
    spread = tf.tile(tf.expand_dims(weights, axis=1), [1, types, 1, 1]) * edges
    return tf.reduce_sum(tf.matmul(spread, v), axis=1)


class Layer(tf.keras.layers.Layer):
    def __init__(self, depth, types, **kwargs):
        super().__init__(**kwargs)
        self.depth, self.types = depth, types
        self.q = tf.keras.layers.Dense(depth)
        self.k, self.v = tf.keras.layers.Dense(depth * types), tf.keras.layers.Dense(depth * types)

    def build(self, shape):
        self.gates = self.add_weight(name="gates", shape=(self.types, self.types))

    def call(self, nodes, adjacency):
        b, n = tf.shape(nodes)[0], tf.shape(nodes)[1]
        q = self.q(nodes) * self.depth**-0.5
        k = tf.transpose(tf.reshape(self.k(nodes), [b, n, self.types, self.depth]), [0, 2, 1, 3])
        v = tf.transpose(tf.reshape(self.v(nodes), [b, n, self.types, self.depth]), [0, 2, 1, 3])
        return dense_attention(q, k, v, adjacency, self.types, self.gates)
