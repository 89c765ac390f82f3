# case: clean_loop_over_heads expect: clean
# proved: yes
import numpy as np


def softmax(x):
    x = np.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


def multi_head(x, Wq, Wk, Wv, h):
    d = Wq.shape[1] // h
    outputs = []
    for i in range(h):
        cols = slice(i * d, (i + 1) * d)
        q, k, v = x @ Wq[:, cols], x @ Wk[:, cols], x @ Wv[:, cols]
        a = softmax(q @ k.T / np.sqrt(d))
        outputs.append(a @ v)
    return np.concatenate(outputs, axis=-1)
