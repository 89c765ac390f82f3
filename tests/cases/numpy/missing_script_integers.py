# case: missing_script_integers expect: missing-scale line: 14 alt: 15
import numpy as np


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


rng = np.random.default_rng(5)
words = rng.integers(0, 3, size=(4, 9)).astype(float)
W_Q, W_K, W_V = rng.normal(size=(9, 9)), rng.normal(size=(9, 9)), rng.normal(size=(9, 9))
Q, K, V = words @ W_Q, words @ W_K, words @ W_V
similarities = np.dot(Q, K.T)
weights = softmax(similarities)
attention = np.dot(weights, V)
