# case: clean_additive_minus_inf expect: clean
# proved: yes
import numpy as np


def softmax(x):
    m = np.max(x, axis=-1, keepdims=True)
    e = np.exp(x - m)
    return e / np.sum(e, axis=-1, keepdims=True)


def causal(x, wq, wk, wv):
    q, k, v = x @ wq, x @ wk, x @ wv
    n, d = q.shape
    mask = np.triu(np.full((n, n), -1e10), k=1)
    return softmax((q @ k.T + mask) / np.sqrt(d)) @ v
