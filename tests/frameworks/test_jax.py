"""JAX, Flax, Haiku and Equinox: functions, transforms, parameters and layers."""

from __future__ import annotations

import pytest

FUNCTION = """
import functools
import math
import jax
import jax.numpy as jnp
from jax import lax, nn

def attend(params, x, heads, mask=None):
    b, t, width = x.shape
    size = width // heads
    cut = lambda y: y.reshape(b, t, heads, size).transpose(0, 2, 1, 3)
    q, k, v = (cut(x @ params[name]) for name in "qkv")
    {scores}
    weights = {weights}
    return jnp.einsum("bhqk,bhkd->bhqd", weights, v)
"""
SOFTMAX = "nn.softmax(scores)"
RIGHT = [
    "q = q / jnp.sqrt(size).astype(q.dtype); scores = jnp.einsum('...qd,...kd->...qk', q, k)",
    "scores = q @ k.swapaxes(-1, -2) * lax.rsqrt(jnp.float32(size))",
    "scores = jnp.matmul(q, k.transpose(0, 1, 3, 2)) / math.sqrt(k.shape[-1])",
    "scores = lax.dot_general(q, k, (((3,), (3,)), ((0, 1), (0, 1)))) * size ** -0.5",
    "scores = lax.mul(jnp.matmul(q, jnp.swapaxes(k, 2, 3)), lax.integer_pow(jnp.sqrt(size), -1))",
    "scores = jnp.einsum('bhqd,bhkd->bhqk', q * size ** -0.25, k * size ** -0.25)",
    "scores = jnp.multiply(jnp.einsum('bhqd,bhkd->bhqk', q, k), jnp.asarray(1.0 / math.sqrt(size), dtype=q.dtype))",
    "scores = jnp.where(mask, jnp.einsum('bhqd,bhkd->bhqk', q, k) / jnp.sqrt(size), jnp.finfo(q.dtype).min)",
    "scores = lax.select(mask, jnp.einsum('bhqd,bhkd->bhqk', q, k) / jnp.sqrt(size), jnp.full(mask.shape, -1e9))",
]
FAULTY = [
    ("scores = q @ k.swapaxes(-1, -2)", "missing-scale"),
    ("scores = q @ k.swapaxes(-1, -2) / jnp.sqrt(width)", "wrong-dim-scale"),
    ("scores = q @ k.swapaxes(-1, -2) / jnp.sqrt(heads)", "wrong-dim-scale"),
    ("scores = lax.dot_general(q, k, (((3,), (3,)), ((0, 1), (0, 1)))) / size", "unrooted-scale"),
    ("scores = q @ k.swapaxes(-1, -2) / lax.rsqrt(jnp.float32(size))", "inverted-scale"),
    ("q = q * lax.rsqrt(jnp.float32(size)); scores = q @ k.swapaxes(-1, -2) / jnp.sqrt(size)", "double-scale"),
]


@pytest.mark.parametrize("scores", RIGHT)
def test_right(judged, scores):
    assert judged(FUNCTION.replace("{scores}", scores).replace("{weights}", SOFTMAX)) == {"correct"}


@pytest.mark.parametrize(("scores", "kind"), FAULTY)
def test_faulty(judged, scores, kind):
    assert judged(FUNCTION.replace("{scores}", scores).replace("{weights}", SOFTMAX)) == {kind}


@pytest.mark.parametrize(
    "weights",
    [
        "jnp.exp(scores - jax.scipy.special.logsumexp(scores, axis=-1, keepdims=True))",
        "jnp.exp(scores - nn.logsumexp(scores, axis=-1, keepdims=True))",
        "(lambda e: e / e.sum(axis=-1, keepdims=True))(jnp.exp(scores - lax.stop_gradient(scores.max(axis=-1, keepdims=True))))",
        "jax.nn.softmax(scores.astype(jnp.float32), axis=-1).astype(x.dtype)",
    ],
)
def test_softmax_is_found_however_it_is_written(judged, weights):
    text = FUNCTION.replace("{weights}", weights)
    assert judged(text.replace("{scores}", RIGHT[0])) == {"correct"}
    assert judged(text.replace("{scores}", FAULTY[1][0])) == {"wrong-dim-scale"}


@pytest.mark.parametrize(
    "placed",
    [
        "q = lax.with_sharding_constraint(q, mask)",
        "q = jax.experimental.layout.with_layout_constraint(q, mask)",
        "q = jax.sharding.reshard(q, mask)",
        "q = lax.reduce_precision(q, exponent_bits=8, mantissa_bits=7)",
        "q, k = lax.optimization_barrier((q, k))",
        "q = jax.shard_map(lambda y: y, mesh=mask, in_specs=None, out_specs=None)(q)",
        "q = jax.ad_checkpoint.checkpoint_name(q, 'query')",
    ],
)
def test_where_an_array_lies_changes_no_number(judged, placed):
    text = FUNCTION.replace("{weights}", SOFTMAX)
    assert judged(text.replace("{scores}", f"{placed}; {RIGHT[1]}")) == {"correct"}
    assert judged(text.replace("{scores}", f"{placed}; {FAULTY[1][0]}")) == {"wrong-dim-scale"}


FUSED = """
import jax
from flax import linen as fnn, nnx

def attend(x, wq, wk, wv, heads):
    b, t, width = x.shape
    size = width // heads
    q, k, v = ((x @ w).reshape(b, t, heads, size) for w in (wq, wk, wv))
    return {call}
"""


@pytest.mark.parametrize(
    ("call", "verdict"),
    [
        ("jax.nn.dot_product_attention(q, k, v, is_causal=True)", "correct"),
        ("jax.nn.dot_product_attention(q, k, v, scale=size ** -0.5)", "correct"),
        ("jax.nn.dot_product_attention(query=q, key=k, value=v, scale=width ** -0.5)", "wrong-dim-scale"),
        ("jax.nn.dot_product_attention(q / size ** 0.5, k, v)", "double-scale"),
        ("fnn.dot_product_attention(q, k, v)", "correct"),
        ("fnn.dot_product_attention(q * size ** -0.5, k, v)", "double-scale"),
        ("nnx.dot_product_attention(q, k, v)", "correct"),
    ],
)
def test_fused(judged, call, verdict):
    assert judged(FUSED.replace("{call}", call)) == {verdict}


VMAPPED = """
import jax
import jax.numpy as jnp

def one(q, k, v):
    scores = jnp.einsum("qd,kd->qk", q, k) / jnp.sqrt({size})
    return jax.nn.softmax(scores) @ v

def attend(x, wq, wk, wv, heads):
    t, width = x.shape
    q, k, v = ((x @ w).reshape(t, heads, width // heads) for w in (wq, wk, wv))
    return jax.vmap(one, in_axes={axes}, out_axes=1)({operands})
"""


@pytest.mark.parametrize(("axes", "operands"), [("1", "q, k, v"), ("(1, 1, 1)", "q, k, v"), ("(0, 1, 1)", "q.swapaxes(0, 1), k, v")])
def test_vmap_takes_the_mapped_axis_away(judged, axes, operands):
    text = VMAPPED.replace("{axes}", axes).replace("{operands}", operands)
    assert judged(text.replace("{size}", "q.shape[-1]")) == {"correct"}
    assert judged(text.replace("jnp.sqrt({size})", "q.shape[-1]")) == {"unrooted-scale"}


def test_jit_checkpoint_and_scan_are_seen_through(judged):
    text = """
import functools
import jax
import jax.numpy as jnp

@functools.partial(jax.jit, static_argnums=0)
def attend(size, q, k, v):
    scores = jnp.einsum("td,sd->ts", q, k) * {scale}
    return jax.nn.softmax(scores) @ v

def layers(params, x, size):
    def step(carry, w):
        y = jax.checkpoint(attend, static_argnums=0)(size, carry @ params["q"], carry @ params["k"], carry @ params["v"])
        return carry + y, None
    x, _ = jax.lax.scan(step, x, params["w"])
    return x

def run(x, wq, wk, wv):
    params = {"q": wq, "k": wk, "v": wv, "w": wq}
    return layers(params, x, wk.shape[-1])
"""
    assert "correct" in judged(text.replace("{scale}", "k.shape[-1] ** -0.5"))
    assert "inverted-scale" in judged(text.replace("{scale}", "k.shape[-1] ** 0.5"))


LINEN = """
import functools
import jax.numpy as jnp
from flax import linen as nn

class Attention(nn.Module):
    num_heads: int
    head_dim: int

    @nn.compact
    def __call__(self, x, deterministic=True):
        names, (b, t, width) = "qkv", x.shape
        {projections}
        logits = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt({size})
        logits = jnp.where(nn.make_causal_mask(jnp.ones((b, t))), logits, -1e10)
        weights = nn.Dropout(0.1)(nn.softmax(logits), deterministic=deterministic)
        return jnp.einsum("bhqk,bkhd->bqhd", weights, v)
"""
PROJECTIONS = [
    "q, k, v = (nn.DenseGeneral((self.num_heads, self.head_dim), name=n)(x) for n in 'qkv')",
    "dense = functools.partial(nn.DenseGeneral, features=(self.num_heads, self.head_dim), axis=-1); "
    "q, k, v = (dense(name=n)(x) for n in names)",
    "q, k, v = (nn.Dense(features=self.num_heads * self.head_dim)(x).reshape(b, t, self.num_heads, self.head_dim) for _ in range(3))",
    "y = jnp.split(nn.Dense(3 * self.num_heads * self.head_dim)(x), 3, -1); q, k, v = (s.reshape(b, t, self.num_heads, -1) for s in y)",
    "shape = (width, self.num_heads, self.head_dim); "
    "q, k, v = (jnp.einsum('btc,chd->bthd', x, self.param(n, nn.zeros, shape)) for n in names)",
]


@pytest.mark.parametrize("projections", PROJECTIONS)
def test_linen(judged, projections):
    text = LINEN.replace("{projections}", projections)
    assert judged(text.replace("{size}", "self.head_dim")) == {"correct"}
    assert judged(text.replace("{size}", "self.head_dim * self.num_heads")) == {"wrong-dim-scale"}


def test_nnx(judged):
    text = """
import jax.numpy as jnp
from flax import nnx

class Attention(nnx.Module):
    def __init__(self, width, heads, *, rngs):
        self.heads, self.size = heads, width // heads
        self.q, self.k = nnx.Linear(width, width, rngs=rngs), nnx.Linear(in_features=width, out_features=width, rngs=rngs)
        self.v = nnx.LinearGeneral(width, (heads, width // heads), rngs=rngs)

    def __call__(self, x):
        q, k = self.q(x).reshape(*x.shape[:-1], self.heads, -1), self.k(x).reshape(*x.shape[:-1], self.heads, -1)
        logits = jnp.einsum("...qhd,...khd->...hqk", q, k) * {scale}
        return jnp.einsum("...hqk,...khd->...qhd", nnx.softmax(logits), self.v(x))
"""
    assert judged(text.replace("{scale}", "self.size ** -0.5")) == {"correct"}
    assert judged(text.replace("{scale}", "(self.size * self.heads) ** -0.5")) == {"wrong-dim-scale"}


HAIKU = """
import haiku as hk
import jax
import jax.numpy as jnp

class Attention(hk.Module):
    def __init__(self, heads, key_size, name=None):
        super().__init__(name=name)
        self.heads, self.key_size = heads, key_size

    def __call__(self, x):
        {projections}
        logits = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt({size})
        return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(logits), v)
"""


@pytest.mark.parametrize(
    "projections",
    [
        "q, k, v = (hk.Linear(self.heads * self.key_size)(x).reshape(*x.shape[:-1], self.heads, self.key_size) for _ in range(3))",
        "y = [hk.Linear(output_size=self.heads * self.key_size)(x) for n in 'qkv']; "
        "q, k, v = (one.reshape((*x.shape[:-1], self.heads, self.key_size)) for one in y)",
        "q, k, v = (jnp.einsum('btc,chd->bthd', x, hk.get_parameter(n, shape=(x.shape[-1], self.heads, self.key_size))) for n in 'qkv')",
    ],
)
def test_haiku(judged, projections):
    text = HAIKU.replace("{projections}", projections)
    assert judged(text.replace("{size}", "self.key_size")) == {"correct"}
    assert judged(text.replace("{size}", "self.key_size * self.heads")) == {"wrong-dim-scale"}


def test_equinox(judged):
    text = """
import equinox as eqx
import jax
import jax.numpy as jnp

class Attention(eqx.Module):
    q: eqx.nn.Linear
    k: eqx.nn.Linear
    v: eqx.nn.Linear
    heads: int = eqx.field(static=True)

    def __init__(self, width, heads, *, key):
        a, b, c = jax.random.split(key, 3)
        self.q = eqx.nn.Linear(width, width, key=a)
        self.k = eqx.nn.Linear(in_features=width, out_features=width, key=b)
        self.v = eqx.nn.Linear(width, width, use_bias=False, key=c)
        self.heads = heads

    def __call__(self, x):
        n, width = x.shape
        q, k, v = (jax.vmap(f)(x).reshape(n, self.heads, width // self.heads) for f in (self.q, self.k, self.v))
        logits = jnp.einsum("qhd,khd->hqk", q, k) / jnp.sqrt({size})
        return jnp.einsum("hqk,khd->qhd", jax.nn.softmax(logits), v)
"""
    assert judged(text.replace("{size}", "width // self.heads")) == {"correct"}
    assert judged(text.replace("{size}", "width")) == {"wrong-dim-scale"}


def test_attention_layers_of_the_libraries_are_no_sites(judged):
    text = """
import equinox as eqx
import haiku as hk
from flax import linen as nn

def blocks(x, heads, size, key):
    x = nn.MultiHeadDotProductAttention(num_heads=heads)(x, x)
    x = hk.MultiHeadAttention(heads, size, 1.0)(x, x, x)
    return eqx.nn.MultiheadAttention(heads, size, key=key)(x, x, x)
"""
    assert judged(text) == set()


def test_a_long_helper_of_another_file_does_not_hide_an_attention(tmp_path):
    from attnlint.linter import lint_text
    from attnlint.syntax.project import Project

    (tmp_path / "helper.py").write_text("def check(x):\n    table = [" + "1, " * 80_000 + "]\n    return x, table\n")
    text = """
import jax.numpy as jnp
from jax import nn
from helper import check

def attend(x, wq, wk, wv):
    check(x)
    check(wq)
    check(wk)
    check(wv)
    check(x.shape)
    check(x.dtype)
    q, k, v = x @ wq, x @ wk, x @ wv
    return nn.softmax(q @ k.swapaxes(-1, -2) / jnp.sqrt(k.shape[-1])) @ v
"""
    result = lint_text(text, str(tmp_path / "program.py"), Project([str(tmp_path)]))
    assert [site.verdict for site in result.sites] == ["correct"]
    assert not result.notes
