# case: other_rbf_kernel expect: clean
import numpy as np


class Kernel:
    def __init__(self, gamma):
        self.gamma = gamma

    def __call__(self, A, B):
        cross = np.dot(A, B.T)
        sq = np.sum(A**2, axis=1)[:, None] + np.sum(B**2, axis=1)[None, :] - 2 * cross
        return np.exp(-self.gamma * sq)

    def decide(self, A, B, alpha, b):
        return np.dot(self(A, B), alpha) + b
