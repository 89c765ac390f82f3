# case: clean_split_and_swapaxes expect: clean
# proved: yes
import numpy as np


def softmax(x, axis):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def heads(x, w_qkv, n_heads):
    """x: (time, dim), w_qkv: (dim, 3 * dim)"""
    qkv = x @ w_qkv
    qkv = qkv.reshape(qkv.shape[:-1] + (3 * n_heads, x.shape[-1] // n_heads))
    q, k, v = np.split(np.swapaxes(qkv, -2, -3), 3, axis=-3)
    logits = q @ np.swapaxes(k, -1, -2)
    logits = logits / np.sqrt(x.shape[-1] / n_heads)
    mixed = softmax(logits, axis=-1) @ v
    return np.swapaxes(mixed, -2, -3).reshape(x.shape)
