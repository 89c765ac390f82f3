# case: clean_keyword_dictionary_spread expect: clean
# proved: yes
import torch
from torch import nn


def run(query, key, value, *, scale, mask=None):
    s = torch.matmul(query, key.transpose(-2, -1)) * scale
    if mask is not None:
        s = s + mask
    return torch.matmul(torch.softmax(s, -1), value)


class Spread(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x):
        b, n, c = x.shape
        parts = {
            "query": self.q(x).view(b, n, self.heads, self.d).transpose(1, 2),
            "key": self.k(x).view(b, n, self.heads, self.d).transpose(1, 2),
            "value": self.v(x).view(b, n, self.heads, self.d).transpose(1, 2),
        }
        return run(**parts, scale=self.d**-0.5).transpose(1, 2).reshape(b, n, c)
