# case: clean_upper_triangle_by_keyword expect: clean
import numpy as np


def attend(q, k, v):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    n = scores.shape[-1]
    later = np.triu(np.ones((n, n), dtype=bool), k=1)
    scores = np.where(~later, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v
