# case: missing_einsum_batch expect: missing-scale line: 9 alt: 11,12
import numpy as np


def attend(x, wq, wk, wv):
    q = np.einsum("bnd,dhk->bhnk", x, wq)
    k = np.einsum("bnd,dhk->bhnk", x, wk)
    v = np.einsum("bnd,dhk->bhnk", x, wv)
    logits = np.einsum("bhik,bhjk->bhij", q, k)
    logits = logits - logits.max(-1, keepdims=True)
    p = np.exp(logits)
    p = p / p.sum(-1, keepdims=True)
    return np.einsum("bhij,bhjk->bhik", p, v)
