# case: inverted_fill_with_minus_infinity expect: inverted-mask line: 9
import torch


def attend(q, k, v):
    n = q.shape[-2]
    scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
    seen = torch.ones(n, n, dtype=torch.bool).tril()
    scores = scores.masked_fill(seen, -torch.inf)
    return torch.softmax(scores, dim=-1) @ v
