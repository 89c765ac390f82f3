# case: clean_global_width_notebook expect: clean
# proved: yes
import numpy as np

rng = np.random.default_rng(4)
d_model, d_k, n = 24, 8, 5
X = rng.normal(size=(n, d_model))
W_Q = rng.normal(size=(d_model, d_k)) / np.sqrt(d_model)
W_K = rng.normal(size=(d_model, d_k)) / np.sqrt(d_model)
W_V = rng.normal(size=(d_model, d_k)) / np.sqrt(d_model)

Q = X @ W_Q
K = X @ W_K
V = X @ W_V

scores = Q @ K.T
scores = scores / np.sqrt(d_k)
scores = scores - scores.max(axis=1, keepdims=True)
weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
output = weights @ V
print(output.shape)
