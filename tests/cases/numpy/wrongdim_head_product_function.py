# case: wrongdim_head_product_function expect: wrong-dim-scale line: 16
import numpy as np


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def multi_head(x, Wq, Wk, Wv, heads):
    n, d_model = x.shape
    d_head = d_model // heads
    q = (x @ Wq).reshape(n, heads, d_head).transpose(1, 0, 2)
    k = (x @ Wk).reshape(n, heads, d_head).transpose(1, 0, 2)
    v = (x @ Wv).reshape(n, heads, d_head).transpose(1, 0, 2)
    scores = np.matmul(q, k.transpose(0, 2, 1)) / np.sqrt(d_model)
    return np.matmul(softmax(scores), v).transpose(1, 0, 2).reshape(n, d_model)
