"""TensorFlow: how scales, products, masks and shapes are written there."""

from __future__ import annotations

import pytest

LAYER = """
import math
import numpy as np
import tensorflow as tf

class Heads(tf.keras.layers.Layer):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.d_model, self.num_heads, self.depth = d_model, num_heads, d_model // num_heads
        self.wq, self.wk, self.wv = (tf.keras.layers.Dense(d_model) for _ in range(3))

    def split(self, x, b):
        x = tf.reshape(x, (b, -1, self.num_heads, self.depth))
        return tf.transpose(x, perm=[0, 2, 1, 3])

    def call(self, x, mask=None):
        b = tf.shape(x)[0]
        q, k, v = self.split(self.wq(x), b), self.split(self.wk(x), b), self.split(self.wv(x), b)
        {scores}
        weights = tf.nn.softmax(scores)
        return tf.matmul(weights, v)
"""

RIGHT = [
    "scores = tf.matmul(q, k, transpose_b=True) / tf.math.sqrt(tf.cast(tf.shape(k)[-1], tf.float32))",
    "scores = tf.multiply(tf.matmul(q, k, transpose_b=True), 1.0 / math.sqrt(float(self.depth)))",
    "scores = tf.linalg.matmul(q, k, False, True); scores *= tf.math.rsqrt(tf.cast(self.depth, tf.float32))",
    "scores = tf.einsum('bhqd,bhkd->bhqk', q, k); scores /= self.depth ** 0.5",
    "scores = tf.matmul(a=q, b=tf.transpose(k, [0, 1, 3, 2])); scores = tf.divide(scores, tf.sqrt(tf.constant(self.depth, tf.float32)))",
    "q = tf.math.scalar_mul(self.depth ** -0.5, q); scores = tf.matmul(q, k, adjoint_b=True)",
    "scores = tf.math.divide(q @ tf.linalg.matrix_transpose(k), np.sqrt(k.get_shape().as_list()[-1]))",
    "scores = tf.matmul(tf.transpose(q, [0, 1, 3, 2]), k, transpose_a=True, transpose_b=True) / math.sqrt(self.depth)",
    "scores = tf.math.truediv(tf.matmul(q, k, transpose_b=True), tf.pow(float(self.depth), 0.5))",
]
FAULTY = [
    ("scores = tf.matmul(q, k, transpose_b=True)", "missing-scale"),
    ("scores = tf.matmul(q, k, transpose_b=True) / tf.math.sqrt(tf.cast(self.d_model, tf.float32))", "wrong-dim-scale"),
    ("scores = tf.matmul(q, k, transpose_b=True) * tf.math.reciprocal(tf.cast(self.depth, tf.float32))", "unrooted-scale"),
    ("scores = tf.multiply(tf.matmul(q, k, transpose_b=True), tf.sqrt(tf.cast(tf.shape(k)[-1], tf.float32)))", "inverted-scale"),
    ("scores = tf.einsum('bhqd,bhkd->bhqk', q * self.depth ** -0.5, k) / math.sqrt(self.depth)", "double-scale"),
]


@pytest.mark.parametrize("scores", RIGHT)
def test_right(judged, scores):
    assert judged(LAYER.replace("{scores}", scores)) == {"correct"}


@pytest.mark.parametrize(("scores", "kind"), FAULTY)
def test_faulty(judged, scores, kind):
    assert judged(LAYER.replace("{scores}", scores)) == {kind}


MASKS = [
    "scores += (1.0 - mask) * -1e9",
    "scores = tf.where(mask, scores, -1e9)",
    "scores = tf.where(tf.sequence_mask(mask, tf.shape(x)[1]), scores, tf.float32.min)",
    "scores = scores - 1e9 * (1.0 - tf.linalg.band_part(tf.ones((tf.shape(x)[1], tf.shape(x)[1])), -1, 0))",
]


@pytest.mark.parametrize("mask", MASKS)
def test_masks_leave_the_scale_alone(judged, mask):
    right = "scores = tf.matmul(q, k, transpose_b=True) / math.sqrt(self.depth); "
    assert judged(LAYER.replace("{scores}", right + mask)) == {"correct"}
    assert judged(LAYER.replace("{scores}", right.replace("depth", "d_model") + mask)) == {"wrong-dim-scale"}


PARTS = [
    # tf.split by count, and by sizes
    "q, k, v = tf.split(projected, 3, axis=-1)",
    "q, k, v = tf.split(value=projected, num_or_size_splits=[width, width, -1], axis=2)",
    # parts on an axis of their own
    "q, k, v = tf.unstack(tf.transpose(tf.reshape(projected, [b, n, 3, width]), [2, 0, 1, 3]), 3)",
    "q, k, v = tf.unstack(tf.reshape(projected, [b, n, 3, width]), num=3, axis=2)",
    "t = tf.reshape(projected, tf.concat([tf.shape(x)[:-1], [3, width]], 0)); q, k, v = t[..., 0, :], t[..., 1, :], t[..., 2, :]",
    "q = projected[:, :, :width]; k = projected[:, :, width:2 * width]; v = projected[:, :, 2 * width:]",
]


@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize(("divisor", "verdict"), [("width", "correct"), ("3 * width", "wrong")])
def test_one_projection_is_cut_into_parts(judged, parts, divisor, verdict):
    text = f"""
import math
import tensorflow as tf

def attend(x, width):
    b, n, c = x.shape
    projected = tf.keras.layers.Dense(units=3 * width)(x)
    {parts}
    scores = tf.matmul(q, k, transpose_b=True) / math.sqrt({divisor})
    return tf.matmul(tf.nn.softmax(scores, axis=-1), v)
"""
    found = judged(text)
    assert found == {"correct"} if verdict == "correct" else "correct" not in found and "unknown" not in found


def test_heads_in_front_by_split_and_concat(judged):
    text = """
import math
import tensorflow as tf

def attend(x, units, heads):
    q, k, v = (tf.keras.layers.Dense(units)(x) for _ in range(3))
    q = tf.concat(tf.split(q, heads, axis=-1), axis=0)
    k = tf.concat(tf.split(k, heads, axis=-1), axis=0)
    v = tf.concat(tf.split(v, heads, axis=-1), axis=0)
    scores = tf.matmul(q, k, transpose_b=True) / math.sqrt({divisor})
    return tf.matmul(tf.nn.softmax(scores), v)
"""
    assert judged(text.replace("{divisor}", "units // heads")) == {"correct"}
    assert judged(text.replace("{divisor}", "units")) == {"wrong-dim-scale"}


def test_a_mean_written_as_a_sum_scales_nothing(judged):
    text = """
import tensorflow as tf
from einops import rearrange, reduce

class Landmarks(tf.keras.layers.Layer):
    def __init__(self, dim, size, heads, landmarks):
        super().__init__()
        self.heads, self.landmarks, self.scale = heads, landmarks, size ** -0.5
        self.to_qkv = tf.keras.layers.Dense(3 * heads * size)

    def call(self, x):
        b, n, _, h, m = (*x.shape, self.heads, self.landmarks)
        q, k, v = tf.split(self.to_qkv(x), 3, axis=-1)
        q, k, v = map(lambda t: rearrange(t, "b n (h d) -> b h n d", h=h), (q, k, v))
        each = n // m
        k = reduce(k, "b h (m l) d -> b h m d", "sum", l=each) {divisor}
        v = reduce(v, "b h (m l) d -> b h m d", "mean", l=each)
        scores = tf.einsum("b h i d, b h j d -> b h i j", q * self.scale, k)
        return tf.einsum("b h i j, b h j d -> b h i d", tf.nn.softmax(scores), v)
"""
    assert judged(text.replace("{divisor}", "/ each")) == {"correct"}
    assert "correct" not in judged(text.replace("{divisor}", "/ each / h"))


def test_a_constant_has_no_more_axes_than_what_it_is_added_to(judged):
    text = """
import tensorflow as tf

class Positions(tf.keras.layers.Layer):
    def __init__(self, dim, heads):
        super().__init__()
        self.dim, self.heads = dim, heads
        self.q, self.k, self.v = (tf.keras.layers.Dense(dim) for _ in range(3))

    def split(self, x):
        return tf.transpose(tf.reshape(x, (x.shape[0], x.shape[1], self.heads, x.shape[-1] // self.heads)), [0, 2, 1, 3])

    def call(self, x):
        q = self.q(x) + tf.ones((x.shape[1], self.dim))
        q, k, v = self.split(q), self.split(self.k(x)), self.split(self.v(x))
        scores = tf.matmul(q, k, transpose_b=True) / {size} ** 0.5
        return tf.matmul(tf.nn.softmax(scores), v)
"""
    assert judged(text.replace("{size}", "(self.dim // self.heads)")) == {"correct"}
    assert judged(text.replace("{size}", "self.dim")) == {"wrong-dim-scale"}


def test_tensordot_over_named_axes(judged):
    text = """
import tensorflow as tf

def attend(x, d):
    tokens, width = x.shape
    q, k, v = (tf.keras.layers.Dense(d)(x) for _ in range(3))
    scores = tf.tensordot(q, k, axes=[[1], [1]]) / {divisor}
    return tf.tensordot(tf.nn.softmax(scores, axis=1), v, axes=1)
"""
    assert judged(text.replace("{divisor}", "d ** 0.5")) == {"correct"}
    assert judged(text.replace("{divisor}", "d")) == {"unrooted-scale"}


def test_variables_of_version_one(judged):
    text = """
import math
import tensorflow.compat.v1 as tf

def attend(x, units):
    q, k, v = tf.layers.dense(x, units), tf.layers.dense(x, units=units), tf.layers.dense(inputs=x, units=units)
    scores = tf.matmul(q, k, transpose_b=True)
    scores /= math.sqrt(q.get_shape()[-1].value)
    return tf.matmul(tf.nn.softmax(scores), v)
"""
    assert judged(text) == {"correct"}
    assert judged(text.replace("    scores /= math.sqrt(q.get_shape()[-1].value)\n", "")) == {"missing-scale"}


def test_a_neighbour_called_tensorflow_is_not_the_package(judged, tmp_path):
    from attnlint.linter import lint_text
    from attnlint.syntax.project import Project

    (tmp_path / "layers").mkdir()
    (tmp_path / "layers" / "tensorflow.py").write_text("nothing = 1\n")
    (tmp_path / "model").mkdir()
    program = tmp_path / "model" / "attention.py"
    text = LAYER.replace("{scores}", RIGHT[0])
    program.write_text(text)
    result = lint_text(text, str(program), Project([str(program), str(tmp_path / "layers" / "tensorflow.py")]))
    assert [site.verdict for site in result.sites] == ["correct"]
