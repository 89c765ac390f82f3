# case: other_policy_temperature expect: clean
import numpy as np


def act(weights, state, rng, temperature=1.0):
    z = state @ weights / temperature
    z -= z.max()
    p = np.exp(z) / np.exp(z).sum()
    return rng.choice(len(p), p=p)
