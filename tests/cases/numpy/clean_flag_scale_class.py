# case: clean_flag_scale_class expect: clean
# proved: yes
import numpy as np


class Softmax:
    def forward(self, X):
        e = np.exp(X - np.max(X, axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)


class DotProduct:
    def __init__(self, scale=True):
        self.scale = scale
        self.softmax = Softmax()

    def forward(self, Q, K, V):
        return self._fwd(Q, K, V)

    def _fwd(self, Q, K, V):
        scale = 1 / np.sqrt(Q.shape[-1]) if self.scale else 1
        scores = Q @ K.swapaxes(-2, -1) * scale
        return self.softmax.forward(scores) @ V


def run(x, wq, wk, wv):
    return DotProduct().forward(x @ wq, x @ wk, x @ wv)
