# case: clean_product_in_try expect: clean
# proved: yes
import numpy as np
import torch
from torch import nn


def compare(query, key, value, mask=None):
    try:
        product = query @ key.transpose(2, 3)
    except RuntimeError as error:
        raise RuntimeError(f"query {tuple(query.shape)} does not go with key {tuple(key.shape)}") from error
    d_head = query.size(-1)
    logits = product / np.sqrt(d_head)
    if mask is not None:
        logits = logits.masked_fill(mask, -np.inf)
    scores = torch.softmax(logits, dim=3)
    return scores, scores @ value


class Trying(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (f(x).view(b, n, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        return compare(q, k, v)[1].transpose(1, 2).reshape(b, n, c)
