# case: clean_softmax_max_in_own_statement expect: clean
# proved: yes
import numpy as np


def softmax(scores):
    scores = np.asarray(scores, dtype=float)
    largest = scores.max(axis=-1)
    scores = scores - largest[..., np.newaxis]
    powers = np.exp(scores)
    total = powers.sum(axis=-1)
    return powers / total[..., np.newaxis]


def self_attention(words, W_Q, W_K, W_V):
    Q, K, V = words @ W_Q, words @ W_K, words @ W_V
    weights = softmax(Q @ K.T / K.shape[1] ** 0.5)
    return weights @ V
