# case: other_zero_shot_similarity expect: clean
import numpy as np


def classify(images, texts, w_i, w_t, temperature=0.07):
    a, b = images @ w_i, texts @ w_t
    a = a / np.linalg.norm(a, axis=1, keepdims=True)
    b = b / np.linalg.norm(b, axis=1, keepdims=True)
    s = a @ b.T / temperature
    s = s - s.max(axis=1, keepdims=True)
    return np.exp(s) / np.exp(s).sum(axis=1, keepdims=True)
