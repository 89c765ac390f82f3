# case: inverted_instance_temperature expect: inverted-scale line: 20 alt: 12,25
import torch
from torch import nn


class Select(nn.Module):
    def __init__(self, temperature):
        super().__init__()
        self.temperature = temperature

    def forward(self, q, k, v):
        return torch.softmax(torch.matmul(q, k.transpose(2, 3)) / self.temperature, dim=-1) @ v


class Panel(nn.Module):
    def __init__(self, n_head, d_model, d_k):
        super().__init__()
        self.n_head, self.d_k = n_head, d_k
        self.wq, self.wk, self.wv = (nn.Linear(d_model, n_head * d_k) for _ in range(3))
        self.select = Select(temperature=d_k**-0.5)

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = (w(x).view(b, n, self.n_head, self.d_k).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        return self.select(q, k, v).transpose(1, 2).flatten(2)
