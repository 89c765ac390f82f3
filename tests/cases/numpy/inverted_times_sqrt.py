# case: inverted_times_sqrt expect: inverted-scale line: 12
import numpy as np


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention(x, wq, wk, wv):
    q, k, v = x @ wq, x @ wk, x @ wv
    s = q @ k.T * np.sqrt(q.shape[-1])
    return softmax(s) @ v
