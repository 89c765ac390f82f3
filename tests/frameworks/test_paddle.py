"""PaddlePaddle: functions, methods, layers and fused kernels."""

from __future__ import annotations

import pytest

LAYER = """
import math
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

class Attention(nn.Layer):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.scale = self.head_dim ** -0.5
        self.root = paddle.sqrt(paddle.to_tensor(self.head_dim, dtype="float32"))
        self.q, self.k, self.v = nn.Linear(embed_dim, embed_dim), nn.Linear(embed_dim, embed_dim), nn.Linear(embed_dim, embed_dim)

    def forward(self, x, mask=None):
        b, n, c = x.shape
        q, k, v = (f(x).reshape([b, n, self.num_heads, self.head_dim]).transpose([0, 2, 1, 3]) for f in (self.q, self.k, self.v))
        {scores}
        weights = {weights}
        return paddle.matmul(weights, v).transpose([0, 2, 1, 3]).reshape([b, n, c])
"""
RIGHT = [
    "scores = paddle.matmul(q, k, transpose_y=True) * self.scale",
    "scores = paddle.matmul(x=q, y=k, transpose_y=True) / self.root",
    "scores = q.matmul(k, transpose_y=True).scale(self.scale)",
    "scores = paddle.matmul(paddle.scale(x=q, scale=self.scale), k.transpose([0, 1, 3, 2]))",
    "scores = q @ k.transpose(perm=[0, 1, 3, 2]) / math.sqrt(q.shape[-1])",
    "scores = paddle.einsum('bhqd,bhkd->bhqk', q, k) * self.head_dim ** -0.5 + mask",
    "scores = paddle.multiply(paddle.matmul(q, k, transpose_y=True), paddle.rsqrt(paddle.to_tensor(float(self.head_dim))))",
]
FAULTY = [
    ("scores = paddle.matmul(q, k, transpose_y=True)", "missing-scale"),
    ("scores = paddle.matmul(q, k, transpose_y=True) / math.sqrt(self.embed_dim)", "wrong-dim-scale"),
    ("scores = paddle.matmul(q, k, transpose_y=True) * self.root", "inverted-scale"),
    ("scores = paddle.matmul(paddle.scale(q, self.scale), k, transpose_y=True) / self.root", "double-scale"),
    ("scores = paddle.scale(paddle.matmul(q, k, transpose_y=True), 1 / self.head_dim)", "unrooted-scale"),
]
SOFTMAX = "F.softmax(scores)"


@pytest.mark.parametrize("scores", RIGHT)
@pytest.mark.parametrize(
    "weights",
    [
        SOFTMAX,
        "F.dropout(nn.Softmax(axis=-1)(scores), 0.1, training=self.training)",
        "F.softmax(scores.astype('float32'), axis=-1).cast(x.dtype)",
    ],
)
def test_right(judged, scores, weights):
    assert judged(LAYER.replace("{scores}", scores).replace("{weights}", weights)) == {"correct"}


@pytest.mark.parametrize(("scores", "kind"), FAULTY)
def test_faulty(judged, scores, kind):
    assert judged(LAYER.replace("{scores}", scores).replace("{weights}", SOFTMAX)) == {kind}


@pytest.mark.parametrize(
    "batch",
    [
        "[0, 0, self.num_heads, self.head_dim]",
        "[0, 0, self.num_heads, -1]",
        "[x.shape[0], -1, self.num_heads, self.head_dim]",
        "x.shape[:-1] + [self.num_heads, self.head_dim]",
    ],
)
def test_a_size_of_zero_keeps_the_axis(judged, batch):
    text = LAYER.replace("[b, n, self.num_heads, self.head_dim]", batch).replace(
        "b, n, c = x.shape", "b, n, c = x.shape[0], x.shape[1], self.embed_dim"
    )
    text = text.replace("{weights}", SOFTMAX)
    assert judged(text.replace("{scores}", RIGHT[0])) == {"correct"}
    assert judged(text.replace("{scores}", FAULTY[1][0])) == {"wrong-dim-scale"}


def test_heads_are_merged_behind_kept_axes(judged):
    text = LAYER.replace("{scores}", "q, k, v = (t.transpose([0, 2, 1, 3]).reshape([0, 0, -1]) for t in (q, k, v)); " + FAULTY[1][0])
    text = text.replace("{weights}", SOFTMAX).replace(
        "paddle.matmul(weights, v).transpose([0, 2, 1, 3]).reshape([b, n, c])", "paddle.matmul(weights, v)"
    )
    assert judged(text) == {"correct"}
    assert judged(text.replace("math.sqrt(self.embed_dim)", "math.sqrt(self.head_dim)")) == {"wrong-dim-scale"}


PACKED = """
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

class Packed(nn.Layer):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.qkv = heads, nn.Linear(dim, 3 * dim)

    def forward(self, x):
        b, n, c = x.shape
        {parts}
        return F.softmax(paddle.matmul(q, k, transpose_y=True) * {scale}, axis=-1) @ v
"""
CUT = ".reshape([b, n, self.heads, c // self.heads]).transpose([0, 2, 1, 3])"


@pytest.mark.parametrize(
    "parts",
    [
        "q, k, v = self.qkv(x).reshape([b, n, 3, self.heads, c // self.heads]).transpose([2, 0, 3, 1, 4]).unbind(0)",
        "t = self.qkv(x).reshape([b, n, 3, self.heads, c // self.heads]).transpose([2, 0, 3, 1, 4]); q, k, v = t[0], t[1], t[2]",
        f"q, k, v = (t{CUT} for t in paddle.split(self.qkv(x), num_or_sections=3, axis=-1))",
        f"q, k, v = (t{CUT} for t in self.qkv(x).chunk(3, axis=-1))",
        f"q, k, v = (t{CUT} for t in self.qkv(x).split([c, c, c], axis=-1))",
    ],
)
def test_one_projection_is_cut_into_parts(judged, parts):
    text = PACKED.replace("{parts}", parts)
    assert judged(text.replace("{scale}", "(c // self.heads) ** -0.5")) == {"correct"}
    assert judged(text.replace("{scale}", "c ** -0.5")) == {"wrong-dim-scale"}


@pytest.mark.parametrize(
    ("call", "verdict"),
    [
        ("F.scaled_dot_product_attention(q, k, v)", "correct"),
        ("F.flash_attention.flash_attention(q, k, v, 0.0, True)[0]", "correct"),
        ("F.scaled_dot_product_attention(q * d ** -0.5, k, v)", "double-scale"),
        ("memory_efficient_attention(q, k, v, None, 0.0, d ** -0.5)", "correct"),
        ("memory_efficient_attention(q, k, v, scale=d)", "inverted-scale"),
    ],
)
def test_fused(judged, call, verdict):
    text = f"""
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.incubate.nn.memory_efficient_attention import memory_efficient_attention

class Fused(nn.Layer):
    def __init__(self, d):
        super().__init__()
        self.d = d
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x):
        d = self.d
        b, n, width = x.shape
        q, k, v = (f(x).unsqueeze(2) for f in (self.q, self.k, self.v))
        return {call}
"""
    assert judged(text) == {verdict}
