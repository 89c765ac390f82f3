# case: other_gaussian_mixture_responsibilities expect: clean
import numpy as np


def responsibilities(X, means, weights, var):
    d = X.shape[1]
    sq = ((X[:, None] - means[None]) ** 2).sum(-1)
    log_p = np.log(weights) - 0.5 * sq / var - 0.5 * d * np.log(2 * np.pi * var)
    log_p = log_p - log_p.max(axis=1, keepdims=True)
    r = np.exp(log_p)
    return r / r.sum(axis=1, keepdims=True)
