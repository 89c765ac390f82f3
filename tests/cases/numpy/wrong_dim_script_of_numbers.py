# case: wrong_dim_script_of_numbers expect: wrong-dim-scale line: 19
import numpy as np
d_model, heads = 512, 8
d_k = d_model // heads
rng = np.random.default_rng(0)
x = rng.normal(size=(10, d_model))

W_q, W_k, W_v = (rng.normal(size=(d_model, d_model)) for _ in range(3))


def softmax(z):
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


Q = (x @ W_q).reshape(10, heads, d_k).transpose(1, 0, 2)
K = (x @ W_k).reshape(10, heads, d_k).transpose(1, 0, 2)
V = (x @ W_v).reshape(10, heads, d_k).transpose(1, 0, 2)
scores = Q @ K.transpose(0, 2, 1) / np.sqrt(d_model)
out = softmax(scores) @ V
