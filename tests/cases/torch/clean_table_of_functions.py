# case: clean_table_of_functions expect: clean
import torch
import torch.nn.functional as F
from torch import nn


def by_hand(q, k, v):
    return torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, dim=-1) @ v


def fused(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


BACKENDS = {"hand": by_hand, "fused": fused}


class Tabled(nn.Module):
    def __init__(self, width, heads, backend="hand"):
        super().__init__()
        self.heads, self.attend = heads, BACKENDS[backend]
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        return self.attend(q, k, v).transpose(1, 2).reshape(b, n, c)
