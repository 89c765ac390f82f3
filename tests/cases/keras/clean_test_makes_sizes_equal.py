# case: clean_test_makes_sizes_equal expect: clean
"""`if self.rotary_dim == self.head_dim: return part` - on that path the rotated part is the whole head, and √head_dim is right."""

import math

import keras
from keras import ops


class Attention(keras.layers.Layer):
    def __init__(self, heads, head_dim, share=0.25, **kwargs):
        super().__init__(**kwargs)
        self.heads, self.head_dim = heads, head_dim
        self.rotary_dim = int(head_dim * share)

    def build(self, shape):
        self.factor = 1.0 / math.sqrt(self.head_dim)
        self.q = keras.layers.EinsumDense("bqm,muh->bquh", output_shape=(None, self.heads, self.head_dim))
        self.k = keras.layers.EinsumDense("bkm,muh->bkuh", output_shape=(None, self.heads, self.head_dim))
        self.v = keras.layers.EinsumDense("bkm,muh->bkuh", output_shape=(None, self.heads, self.head_dim))

    def turn(self, x, angle):
        part, rest = x[..., : self.rotary_dim], x[..., self.rotary_dim :]
        part = ops.cast(part, "float32")
        if self.rotary_dim == self.head_dim:
            return part
        return ops.concatenate([part, rest], axis=-1)

    def call(self, x, angle):
        q = self.turn(self.q(x), angle)
        k = self.turn(self.k(x), angle)
        scores = ops.softmax(ops.einsum("bquh,bkuh->buqk", q, k) * self.factor, axis=-1)
        return ops.einsum("buqk,bkuh->bquh", scores, self.v(x))
