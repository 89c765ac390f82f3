# case: wrongdim_caller_passes_model_width expect: wrong-dim-scale line: 26 alt: 9
import math

import torch
from torch import nn


def attend(q, k, v, d, mask=None):
    scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(d)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    return torch.matmul(torch.softmax(scores, dim=-1), v)


class Caller(nn.Module):
    def __init__(self, heads, d_model):
        super().__init__()
        self.d_model, self.h, self.d_k = d_model, heads, d_model // heads
        self.q_linear, self.k_linear, self.v_linear = (nn.Linear(d_model, d_model) for _ in range(3))

    def forward(self, q, k, v, mask=None):
        bs = q.size(0)
        q = self.q_linear(q).view(bs, -1, self.h, self.d_k).transpose(1, 2)
        k = self.k_linear(k).view(bs, -1, self.h, self.d_k).transpose(1, 2)
        v = self.v_linear(v).view(bs, -1, self.h, self.d_k).transpose(1, 2)
        return attend(q, k, v, self.d_model, mask).transpose(1, 2).contiguous().view(bs, -1, self.d_model)
