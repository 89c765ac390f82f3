"""tinygrad: what torch's table says of tensors holds for its own, and the fused kernel is a method of the query."""

from __future__ import annotations

import pytest

MODULE = """
import math
from tinygrad import Tensor, nn

class Attention:
    def __init__(self, dim, n_heads):
        self.dim, self.n_heads, self.head_dim = dim, n_heads, dim // n_heads
        self.wq, self.wk, self.wv = nn.Linear(dim, dim, bias=False), nn.Linear(dim, dim), nn.Linear(in_features=dim, out_features=dim)

    def __call__(self, x, mask=None):
        b, t, _ = x.shape
        q, k, v = (f(x).reshape(b, t, self.n_heads, self.head_dim).transpose(1, 2) for f in (self.wq, self.wk, self.wv))
        return ({output}).transpose(1, 2).reshape(b, t, self.dim)
"""


@pytest.mark.parametrize(
    ("output", "verdict"),
    [
        ("((q @ k.transpose(-2, -1)) / math.sqrt(self.head_dim)).softmax() @ v", "correct"),
        ("(q.matmul(k.transpose(-2, -1)) * self.head_dim**-0.5 + mask).softmax(axis=-1).dropout(0.1) @ v", "correct"),
        ("Tensor.einsum('bhqd,bhkd->bhqk', q, k).div(self.head_dim**0.5).softmax(-1) @ v", "correct"),
        ("q.scaled_dot_product_attention(k, v, attn_mask=mask)", "correct"),
        ("Tensor.scaled_dot_product_attention(q, k, v, is_causal=True)", "correct"),
        ("(q @ k.transpose(-2, -1)).softmax(-1) @ v", "missing-scale"),
        ("(q.dot(k.transpose(-2, -1)) / math.sqrt(self.dim)).softmax(-1) @ v", "wrong-dim-scale"),
        ("(q.matmul(k.transpose(-2, -1)) / self.head_dim).softmax(-1).realize() @ v", "unrooted-scale"),
        ("(q * self.head_dim**-0.5).scaled_dot_product_attention(k, v)", "double-scale"),
    ],
)
def test_attention(judged, output, verdict):
    assert judged(MODULE.replace("{output}", output)) == {verdict}


def test_a_kernel_that_is_a_method_of_an_argument(judged):
    head = "from tinygrad import Tensor\n\ndef attend(q: Tensor, k: Tensor, v: Tensor):\n"
    text = head + "    return (q * q.shape[-1]**-0.5).scaled_dot_product_attention(k, v)\n"
    assert judged(text) == {"double-scale"}


def test_a_method_of_that_name_in_another_framework_is_none_of_its_tensors(judged):
    text = MODULE.replace("from tinygrad import Tensor, nn", "from torch import nn, Tensor")
    assert judged(text.replace("{output}", "(q * self.head_dim**-0.5).scaled_dot_product_attention(k, v)")) <= {"unknown"}
