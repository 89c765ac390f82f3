# case: clean_width_of_the_transposed expect: clean
# proved: yes
import numpy as np


def softmax(rows):
    shifted = np.exp(rows - rows.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def look_up(tokens, to_query, to_key, to_value):
    query = tokens @ to_query
    key = tokens @ to_key
    scores = query @ key.T / np.sqrt(key.shape[1])
    return softmax(scores) @ (tokens @ to_value)
