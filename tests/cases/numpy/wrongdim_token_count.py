# case: wrongdim_token_count expect: wrong-dim-scale line: 13
import numpy as np


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention(x, wq, wk, wv):
    """x: (tokens, features)"""
    q, k, v = x @ wq, x @ wk, x @ wv
    s = q @ k.T / np.sqrt(k.shape[0])
    return softmax(s) @ v
