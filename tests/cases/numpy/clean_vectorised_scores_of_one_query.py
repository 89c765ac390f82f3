# case: clean_vectorised_scores_of_one_query expect: clean
# proved: yes
import numpy as np


def read(query, keys, values):
    """One query of d features over n keys."""
    d = query.shape[0]
    logits = keys @ query / np.sqrt(d)
    logits = logits - logits.max()
    w = np.exp(logits)
    w = w / w.sum()
    return w @ values
