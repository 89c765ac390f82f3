"""Keras 2 and 3: layer objects, build, add_weight, the backend, keras.ops."""

from __future__ import annotations

import pytest

OPS = """
import math
import keras
from keras import layers, ops

class Attention(layers.Layer):
    def __init__(self, num_heads, key_dim, **kwargs):
        super().__init__(**kwargs)
        self.num_heads, self.key_dim = num_heads, key_dim
        self._inverse_sqrt_key_dim = 1.0 / math.sqrt(float(key_dim))
        self.q, self.k, self.v = (layers.EinsumDense("abc,cde->abde", output_shape=(None, num_heads, key_dim)) for _ in range(3))
        self.softmax = layers.Softmax(axis=-1)

    def call(self, x, mask=None):
        query, key, value = self.q(x), self.k(x), self.v(x)
        {scores}
        weights = self.softmax(scores, mask)
        return ops.einsum("bhqk,bkhd->bqhd", weights, value)
"""
PRODUCT = "scores = ops.einsum('bqhd,bkhd->bhqk', query, key)"
RIGHT = [
    f"query = ops.multiply(query, ops.cast(self._inverse_sqrt_key_dim, query.dtype)); {PRODUCT}",
    f"{PRODUCT}; scores = ops.divide(scores, ops.sqrt(ops.cast(ops.shape(key)[-1], scores.dtype)))",
    f"{PRODUCT} * ops.rsqrt(float(self.key_dim))",
    "scores = ops.matmul(ops.transpose(query, (0, 2, 1, 3)), ops.transpose(key, axes=[0, 2, 3, 1])) / ops.sqrt(float(self.key_dim))",
]
FAULTY = [
    (PRODUCT, "missing-scale"),
    (f"{PRODUCT}; scores = ops.divide(scores, ops.sqrt(float(self.key_dim * self.num_heads)))", "wrong-dim-scale"),
    (f"{PRODUCT}; scores = ops.divide(scores, self._inverse_sqrt_key_dim)", "inverted-scale"),
    (f"query = ops.multiply(query, self._inverse_sqrt_key_dim); {PRODUCT} * self._inverse_sqrt_key_dim", "double-scale"),
]


@pytest.mark.parametrize("scores", RIGHT)
def test_right(judged, scores):
    assert judged(OPS.replace("{scores}", scores)) == {"correct"}


@pytest.mark.parametrize(("scores", "kind"), FAULTY)
def test_faulty(judged, scores, kind):
    assert judged(OPS.replace("{scores}", scores)) == {kind}


OBJECTS = """
from tensorflow.keras import layers

class Objects(layers.Layer):
    def build(self, input_shape):
        width = input_shape[-1]
        self.q, self.k, self.v = layers.Dense(units=width), layers.Dense(width), layers.Dense(width)
        self.compare = layers.Dot(axes={axes})
        self.scale = layers.Lambda(lambda t: t {scale})
        self.normalise = layers.Activation("softmax")
        self.gather = layers.Dot(axes=(2, 1))
        self.drop = layers.Dropout(0.1)

    def call(self, x):
        scores = self.scale(self.compare([self.q(x), self.k(x)]))
        return self.gather([self.drop(self.normalise(scores)), self.v(x)])
"""


@pytest.mark.parametrize("axes", ["(2, 2)", "[2, 2]", "2", "-1"])
@pytest.mark.parametrize(("scale", "verdict"), [("/ width ** 0.5", "correct"), ("* 1", "intended"), ("/ width", "unrooted-scale")])
def test_layers_that_compare_scale_and_normalise(judged, axes, scale, verdict):
    assert judged(OBJECTS.replace("{axes}", axes).replace("{scale}", scale)) == {verdict}


def test_dot_sums_over_the_axes_it_is_given(judged):
    text = OBJECTS.replace("self.compare([self.q(x), self.k(x)])", "self.compare([layers.Permute((2, 1))(self.q(x)), self.k(x)])")
    assert judged(text.replace("{axes}", "(1, 2)").replace("{scale}", "/ width ** 0.5")) == {"correct"}


def test_layers_that_view(judged):
    text = """
import math
from keras.layers import Dense, Layer, Permute, Reshape, Softmax, Concatenate, LayerNormalization
from keras import ops

class Views(Layer):
    def __init__(self, tokens, heads, size):
        super().__init__()
        self.size, self.heads = size, heads
        self.norm = LayerNormalization()
        self.q, self.k, self.v = Dense(heads * size), Dense(heads * size), Dense(heads * size)
        self.cut, self.turn = Reshape((tokens, heads, size)), Permute((2, 1, 3))
        self.turn_key = Permute((2, 3, 1))

    def call(self, x):
        x = self.norm(x)
        q, k, v = self.turn(self.cut(self.q(x))), self.turn_key(self.cut(self.k(x))), self.turn(self.cut(self.v(x)))
        return ops.matmul(Softmax()(ops.matmul(q, k) / math.sqrt({divisor})), v)
"""
    assert judged(text.replace("{divisor}", "self.size")) == {"correct"}
    assert judged(text.replace("{divisor}", "self.size * self.heads")) == {"wrong-dim-scale"}


BACKEND = """
from tensorflow.keras import backend as K
from tensorflow.keras.layers import Layer

class Backend(Layer):
    def __init__(self, output_dim, **kwargs):
        super().__init__(**kwargs)
        self.output_dim = output_dim

    def build(self, input_shape):
        {weights}

    def call(self, x):
        q, k, v = K.dot(x, self.wq), K.dot(x, self.wk), K.dot(x, self.wv)
        scores = {scores}
        return K.batch_dot(K.softmax(scores), v)
"""
NAMED = "self.wq, self.wk, self.wv = (self.add_weight(name=n, shape=(input_shape[-1], self.output_dim)) for n in 'qkv')"
POSITIONAL = "self.wq, self.wk, self.wv = (self.add_weight(n, (input_shape[-1], self.output_dim)) for n in 'qkv')"
PLAIN = "self.wq, self.wk, self.wv = (self.add_weight((input_shape[-1], self.output_dim), 'zeros') for n in 'qkv')"


@pytest.mark.parametrize("weights", [NAMED, POSITIONAL, PLAIN])
@pytest.mark.parametrize("product", ["K.batch_dot(q, K.permute_dimensions(k, (0, 2, 1)))", "K.batch_dot(q, k, axes=[2, 2])"])
@pytest.mark.parametrize(
    ("scale", "verdict"),
    [
        ("/ K.sqrt(K.cast(self.output_dim, K.floatx()))", "correct"),
        ("/ (64 ** 0.5)", "constant-scale"),
        ("", "missing-scale"),
        ("/ K.cast(self.output_dim, 'float32')", "unrooted-scale"),
    ],
)
def test_backend(judged, weights, product, scale, verdict):
    assert judged(BACKEND.replace("{weights}", weights).replace("{scores}", f"{product} {scale}")) == {verdict}


def test_a_list_of_inputs_is_built_from_a_list_of_shapes(judged):
    text = """
import tensorflow as tf

class Cross(tf.keras.layers.Layer):
    def build(self, input_shape):
        width = input_shape[0][-1]
        self.q, self.k, self.v = (tf.keras.layers.Dense(width) for _ in range(3))

    def call(self, inputs):
        x, memory = inputs
        scores = tf.matmul(self.q(x), self.k(memory), transpose_b=True) * {scale}
        return tf.matmul(tf.nn.softmax(scores), self.v(memory))
"""
    assert judged(text.replace("{scale}", "x.shape[-1] ** -0.5")) == {"correct"}
    assert judged(text.replace("{scale}", "x.shape[-1] ** -1")) == {"unrooted-scale"}


@pytest.mark.parametrize(
    "body", ["pass", "def __init__(self, units, **kwargs):\n        super().__init__(units, use_bias=False, **kwargs)"]
)
def test_a_layer_derived_from_a_layer(judged, body):
    text = f"""
import tensorflow as tf

class Projection(tf.keras.layers.Dense):
    {body}
"""
    text += """

class Block(tf.keras.layers.Layer):
    def __init__(self, dim, heads):
        super().__init__()
        self.dim, self.heads = dim, heads
        self.qkv = Projection(dim * 3)

    def call(self, x):
        b, n, c = x.shape
        qkv = tf.transpose(tf.reshape(self.qkv(x), [b, n, 3, self.heads, c // self.heads]), [2, 0, 3, 1, 4])
        q, k, v = qkv[0], qkv[1], qkv[2]
        scores = q @ tf.transpose(k, [0, 1, 3, 2]) * {scale}
        return tf.nn.softmax(scores) @ v
"""
    assert judged(text.replace("{scale}", "(self.dim // self.heads) ** -0.5")) == {"correct"}
    assert judged(text.replace("{scale}", "self.dim ** -0.5")) == {"wrong-dim-scale"}


def test_attention_layers_of_the_framework_are_no_sites(judged):
    text = """
from keras import layers

def block(x, heads, size):
    y = layers.MultiHeadAttention(heads, size)(x, x)
    y, weights = layers.MultiHeadAttention(heads, size)(y, y, return_attention_scores=True)
    return layers.Attention()([y, x]), weights
"""
    assert judged(text) == set()


def test_fused(judged):
    text = """
import keras
from keras import ops

def attend(x, width, heads):
    q, k, v = (ops.reshape(keras.layers.Dense(width)(x), (-1, 16, heads, width // heads)) for _ in range(3))
    return ops.nn.dot_product_attention({arguments})
"""
    assert judged(text.replace("{arguments}", "q, k, v")) == {"correct"}
    assert judged(text.replace("{arguments}", "q, k, v, scale=width ** -0.5")) == {"wrong-dim-scale"}
