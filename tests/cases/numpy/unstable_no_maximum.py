# case: unstable_no_maximum expect: unstable-softmax line: 6 alt: 7,12
import numpy as np


def softmax(x):
    e = np.exp(x)
    return e / e.sum(axis=-1, keepdims=True)


def attention(x, wq, wk, wv):
    q, k, v = x @ wq, x @ wk, x @ wv
    return softmax(q @ k.T / np.sqrt(k.shape[-1])) @ v
