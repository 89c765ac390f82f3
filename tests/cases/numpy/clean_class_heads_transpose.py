# case: clean_class_heads_transpose expect: clean
# proved: yes
import numpy as np


def stable(z):
    top = np.max(z, axis=-1, keepdims=True)
    p = np.exp(z - top)
    return p / np.sum(p, axis=-1, keepdims=True)


class Heads:
    def __init__(self, d_model, n_heads, seed=0):
        rng = np.random.default_rng(seed)
        self.n_heads = n_heads
        self.d_k = d_model // n_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (rng.normal(size=(d_model, d_model)) / np.sqrt(d_model) for _ in range(4))

    def split(self, x):
        b, n, _ = x.shape
        return x.reshape(b, n, self.n_heads, self.d_k).transpose(0, 2, 1, 3)

    def forward(self, x):
        b, n, d = x.shape
        Q, K, V = self.split(x @ self.W_q), self.split(x @ self.W_k), self.split(x @ self.W_v)
        scores = np.matmul(Q, K.transpose(0, 1, 3, 2)) / np.sqrt(self.d_k)
        out = np.matmul(stable(scores), V)
        return out.transpose(0, 2, 1, 3).reshape(b, n, d) @ self.W_o
