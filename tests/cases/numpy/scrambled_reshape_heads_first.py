# case: scrambled_reshape_heads_first expect: scrambled-heads line: 12 alt: 13,14,16
import numpy as np


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def heads(x, wq, wk, wv, h):
    b, n, d = x.shape
    q = (x @ wq).reshape(b, h, n, d // h)
    k = (x @ wk).reshape(b, h, n, d // h)
    v = (x @ wv).reshape(b, h, n, d // h)
    p = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(d // h))
    return (p @ v).reshape(b, n, d)
