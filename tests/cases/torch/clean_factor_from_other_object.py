# case: clean_factor_from_other_object expect: clean
# proved: yes
import torch
from torch import nn


class Store(nn.Module):
    def __init__(self, dim, heads, dim_head):
        super().__init__()
        self.heads = heads
        self.scale = dim_head**-0.5
        self.to_q, self.to_k, self.to_v = (nn.Linear(dim, heads * dim_head) for _ in range(3))


class Procedure:
    """Runs the maths for a module that only keeps weights."""

    def __call__(self, attn: Store, x):
        b, n, _ = x.shape
        q = attn.to_q(x).view(b, n, attn.heads, -1).transpose(1, 2)
        k = attn.to_k(x).view(b, n, attn.heads, -1).transpose(1, 2)
        v = attn.to_v(x).view(b, n, attn.heads, -1).transpose(1, 2)
        scores = torch.matmul(q, k.transpose(-2, -1)) * attn.scale
        return torch.matmul(scores.softmax(dim=-1), v).transpose(1, 2).reshape(b, n, -1)


class Workshop(nn.Module):
    def __init__(self, dim, heads, dim_head):
        super().__init__()
        self.store = Store(dim, heads, dim_head)
        self.procedure = Procedure()

    def forward(self, x):
        return self.procedure(self.store, x)
