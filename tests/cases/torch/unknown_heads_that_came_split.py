# case: unknown_heads_that_came_split expect: clean
# verdict: unknown
import torch
from torch import nn


class Folded(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d_k = heads, width // heads

    def attend(self, query, key, value):
        b = key.shape[0]
        q = query.reshape(b * self.heads, -1, self.d_k)
        k = key.reshape(b * self.heads, -1, self.d_k)
        v = value.reshape(b * self.heads, -1, self.d_k)
        return torch.bmm(torch.bmm(q, k.transpose(1, 2)).softmax(-1), v)
