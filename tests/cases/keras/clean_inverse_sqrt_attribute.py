# case: clean_inverse_sqrt_attribute expect: clean
# proved: yes
import math

import keras
from keras import layers, ops


class Inverse(layers.Layer):
    def __init__(self, num_heads, key_dim, **kwargs):
        super().__init__(**kwargs)
        self.num_heads, self.key_dim = num_heads, key_dim
        self._inverse_sqrt_key_dim = 1.0 / math.sqrt(float(key_dim))
        self.q = layers.EinsumDense("abc,cde->abde", output_shape=(None, num_heads, key_dim))
        self.k = layers.EinsumDense("abc,cde->abde", output_shape=(None, num_heads, key_dim))
        self.v = layers.EinsumDense("abc,cde->abde", output_shape=(None, num_heads, key_dim))
        self.softmax = layers.Softmax(axis=-1)

    def call(self, x):
        query, key, value = self.q(x), self.k(x), self.v(x)
        query = ops.multiply(query, ops.cast(self._inverse_sqrt_key_dim, query.dtype))
        scores = ops.einsum("bqhd,bkhd->bhqk", query, key)
        return ops.einsum("bhqk,bkhd->bqhd", self.softmax(scores), value)
