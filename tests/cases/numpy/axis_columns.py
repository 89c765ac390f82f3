# case: axis_columns expect: softmax-axis line: 14
import numpy as np


def softmax(x, axis=0):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def attention(x, wq, wk, wv):
    """x: (tokens, features); the helper's default axis is the queries'."""
    q, k, v = x @ wq, x @ wk, x @ wv
    s = q @ k.T / np.sqrt(k.shape[-1])
    weights = softmax(s)
    return weights @ v
