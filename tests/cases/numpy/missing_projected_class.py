# case: missing_projected_class expect: missing-scale line: 17 alt: 18
import numpy as np


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


class Mini:
    def __init__(self, d, d_k, seed=0):
        rng = np.random.default_rng(seed)
        self.wq, self.wk, self.wv = (rng.normal(size=(d, d_k)) for _ in range(3))

    def __call__(self, x):
        q, k, v = x @ self.wq, x @ self.wk, x @ self.wv
        s = q @ k.T
        return softmax(s) @ v
