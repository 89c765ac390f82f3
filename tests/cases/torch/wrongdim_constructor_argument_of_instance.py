# case: wrongdim_constructor_argument_of_instance expect: wrong-dim-scale line: 10 alt: 13,22,27
import torch
import torch.nn as nn
import torch.nn.functional as F


class Dot(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.temper = d_model**0.5

    def forward(self, q, k, v):
        attn = torch.bmm(q, k.transpose(1, 2)) / self.temper
        return torch.bmm(F.softmax(attn, dim=-1), v)


class Labels(nn.Module):
    def __init__(self, n_head, d_model, d_k):
        super().__init__()
        self.n_head, self.d_k = n_head, d_k
        self.w_q, self.w_k, self.w_v = (nn.Linear(d_model, n_head * d_k) for _ in range(3))
        self.attention = Dot(d_model)

    def forward(self, x):
        b, n, _ = x.shape
        fold = lambda t: t.view(b, n, self.n_head, self.d_k).permute(2, 0, 1, 3).reshape(-1, n, self.d_k)
        return self.attention(fold(self.w_q(x)), fold(self.w_k(x)), fold(self.w_v(x)))
