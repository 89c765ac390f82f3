# case: wrongdim_input_width_script expect: wrong-dim-scale line: 15
import numpy as np


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


np.random.seed(0)
d_model, d_k, tokens = 100, 16, 30
X = np.random.randn(tokens, d_model)
Wq, Wk, Wv = (np.random.randn(d_model, d_k) / 10 for _ in range(3))
Q, K, V = X @ Wq, X @ Wk, X @ Wv
scores = Q @ K.T / np.sqrt(d_model)
Z = softmax(scores) @ V
