# case: other_dropout_mask_after_softmax expect: clean
# proved: yes
import numpy as np


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


class Trainable:
    def __init__(self, d, d_k, dropout=0.1):
        self.d_k, self.dropout = d_k, dropout
        self.wq, self.wk, self.wv = (np.random.randn(d, d_k) / d**0.5 for _ in range(3))

    def forward(self, x, training=True):
        q, k, v = x @ self.wq, x @ self.wk, x @ self.wv
        w = softmax(q @ k.T / np.sqrt(self.d_k))
        if training and self.dropout > 0:
            mask = np.random.binomial(1, 1 - self.dropout, size=w.shape)
            w *= mask / (1 - self.dropout)
        return w @ v
