# case: clean_divide_by_root expect: clean
# proved: yes
import numpy as np


def softmax(x, axis=-1):
    x = x - x.max(axis=axis, keepdims=True)
    e = np.exp(x)
    return e / e.sum(axis=axis, keepdims=True)


def attention(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.T / np.sqrt(d_k)
    if mask is not None:
        scores = np.where(mask, scores, -1e9)
    return softmax(scores) @ V


def main():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6, 32))
    wq, wk, wv = (rng.normal(size=(32, 16)) / 32**0.5 for _ in range(3))
    return attention(x @ wq, x @ wk, x @ wv)
