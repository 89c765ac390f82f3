"""Attention of one head in NumPy, as in a lecture: it divides by d_k where the root of d_k is due."""

import numpy as np


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attend(x: np.ndarray, w_q: np.ndarray, w_k: np.ndarray, w_v: np.ndarray) -> np.ndarray:
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    d_k = k.shape[-1]
    weights = softmax(q @ k.T / d_k)
    return weights @ v


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    tokens = rng.normal(size=(5, 16))
    print(attend(tokens, *(rng.normal(size=(16, 8)) for _ in range(3))).shape)
