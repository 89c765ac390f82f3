# case: multmask_tril_buffer_product expect: multiplicative-mask line: 19
import torch
from torch import nn
from torch.nn import functional as F


class Causal(nn.Module):
    def __init__(self, n_embd, head_size, block):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block, block)))

    def forward(self, x):
        T = x.shape[1]
        k, q, v = self.key(x), self.query(x), self.value(x)
        wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        wei = wei * self.tril[:T, :T]
        return F.softmax(wei, dim=-1) @ v
