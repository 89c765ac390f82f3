# case: transpose_all_axes_of_batch expect: wrong-transpose line: 20
import numpy as np


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


class BatchT:
    """`.T` of three axes reverses them all."""

    def __init__(self, d, d_k, seed=0):
        rng = np.random.default_rng(seed)
        self.wq, self.wk, self.wv = (rng.normal(size=(d, d_k)) for _ in range(3))

    def __call__(self, x):
        batch, length, d = x.shape
        q, k, v = x @ self.wq, x @ self.wk, x @ self.wv
        s = q @ k.T / np.sqrt(k.shape[-1])
        return softmax(s) @ v
