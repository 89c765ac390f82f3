# case: clean_einsum_power_half expect: clean
# proved: yes
import numpy as np


def attend(q, k, v):
    """q, k, v: (batch, heads, time, features)"""
    logits = np.einsum("bhqd,bhkd->bhqk", q, k) / np.power(q.shape[-1], 0.5)
    logits -= logits.max(axis=-1, keepdims=True)
    weights = np.exp(logits)
    weights /= weights.sum(axis=-1, keepdims=True)
    return np.einsum("bhqk,bhkd->bhqd", weights, v)
