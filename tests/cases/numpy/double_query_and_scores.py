# case: double_query_and_scores expect: double-scale line: 14 alt: 12
import numpy as np


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention(x, wq, wk, wv):
    d = wk.shape[1]
    q = x @ wq / np.sqrt(d)
    k, v = x @ wk, x @ wv
    return softmax(q @ k.T / np.sqrt(d)) @ v
