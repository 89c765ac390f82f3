# case: wrongdim_model_width expect: wrong-dim-scale line: 20
import numpy as np


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


class Wide:
    def __init__(self, d_model, h):
        self.d_model, self.h, self.d_k = d_model, h, d_model // h
        self.Wq, self.Wk, self.Wv = (np.random.randn(d_model, d_model) / d_model**0.5 for _ in range(3))

    def cut(self, x):
        return x.reshape(x.shape[0], -1, self.h, self.d_k).transpose(0, 2, 1, 3)

    def forward(self, x):
        q, k, v = self.cut(x @ self.Wq), self.cut(x @ self.Wk), self.cut(x @ self.Wv)
        s = q @ k.transpose(0, 1, 3, 2) / np.sqrt(self.d_model)
        return softmax(s) @ v
