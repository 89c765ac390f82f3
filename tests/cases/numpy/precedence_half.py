# case: precedence_half expect: scale-precedence line: 13
import numpy as np


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention(x, wq, wk, wv):
    q, k, v = x @ wq, x @ wk, x @ wv
    d_k = q.shape[-1]
    return softmax(q @ k.T / d_k ** 1 / 2) @ v
