# case: multmask_times_tril expect: multiplicative-mask line: 13
import numpy as np


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def causal(x, wq, wk, wv):
    q, k, v = x @ wq, x @ wk, x @ wv
    s = q @ k.T / np.sqrt(k.shape[-1])
    s = s * np.tril(np.ones_like(s))
    return softmax(s) @ v
