# case: clean_column_tokens expect: clean
# proved: yes
import numpy as np


def column_softmax(S):
    S = S - S.max(axis=0, keepdims=True)
    E = np.exp(S)
    return E / E.sum(axis=0, keepdims=True)


def column_attention(X, Wq, Wk, Wv):
    """Tokens stand in columns: X is (features, tokens)."""
    Q, K, V = Wq @ X, Wk @ X, Wv @ X
    S = K.T @ Q / np.sqrt(Q.shape[0])
    return V @ column_softmax(S)
