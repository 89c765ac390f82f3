# case: clean_layout_of_convolution_given expect: clean
"""Keras Conv2D with `data_format="channels_first"` gives (b, c, h, w); the transpose to (b, h, w, c) before the view is right (ATT402)."""

import math

import keras
from keras import ops


class Attention(keras.layers.Layer):
    def __init__(self, filters, data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.filters, self.data_format = filters, keras.config.image_data_format() if data_format is None else data_format
        self.factor = 1.0 / math.sqrt(float(filters))
        self.q = keras.layers.Conv2D(filters, 1, data_format=self.data_format)
        self.k = keras.layers.Conv2D(filters, 1, data_format=self.data_format)
        self.v = keras.layers.Conv2D(filters, 1, data_format=self.data_format)

    def call(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        if self.data_format == "channels_first":
            q, k, v = ops.transpose(q, (0, 2, 3, 1)), ops.transpose(k, (0, 2, 3, 1)), ops.transpose(v, (0, 2, 3, 1))
        b = ops.shape(x)[0]
        q = ops.reshape(q, (b, -1, self.filters))
        k = ops.reshape(k, (b, -1, self.filters))
        v = ops.reshape(v, (b, -1, self.filters))
        weights = ops.softmax(ops.einsum("abc,adc->abd", q * self.factor, k), axis=-1)
        return ops.einsum("abd,adc->abc", weights, v)
