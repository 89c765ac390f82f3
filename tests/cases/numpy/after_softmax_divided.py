# case: after_softmax_divided expect: scale-after-softmax line: 12
import numpy as np


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention(x, wq, wk, wv):
    q, k, v = x @ wq, x @ wk, x @ wv
    weights = softmax(q @ k.T) / np.sqrt(q.shape[-1])
    return weights @ v
