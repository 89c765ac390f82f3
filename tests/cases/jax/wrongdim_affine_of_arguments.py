# case: wrongdim_affine_of_arguments expect: wrong-dim-scale line: 31
"""`x @ w + b` with weights and biases that are arguments (functional code).
The root is of the whole width."""

import math

import jax
import jax.numpy as jnp


def linear(x, w, b):
    return x @ w + b


def attend(x, wq, bq, wk, bk, wv, bv):
    q, k, v = linear(x, wq, bq), linear(x, wk, bk), linear(x, wv, bv)
    return jax.nn.softmax(q @ k.T / math.sqrt(q.shape[-1]), axis=-1) @ v


class Attention:
    def __init__(self, heads, wq, wk, wv, bq, bk):
        self.heads = heads
        self.wq, self.wk, self.wv, self.bq, self.bk = wq, wk, wv, bq, bk

    def __call__(self, x):
        b, t, width = x.shape
        shape = (b, t, self.heads, width // self.heads)
        q = jnp.reshape(jnp.matmul(x, self.wq) + self.bq, shape)
        k = jnp.reshape(jnp.matmul(x, self.wk) + self.bk, shape)
        v = jnp.reshape(jnp.matmul(x, self.wv), shape)
        weights = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(width), axis=-1)
        return jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(b, t, width)
