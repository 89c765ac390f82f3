# case: wrongdim_input_channels_karpathy expect: wrong-dim-scale line: 17
import torch
from torch import nn
from torch.nn import functional as F


class Syllable(nn.Module):
    def __init__(self, n_embd, head_size):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)

    def forward(self, x):
        B, T, C = x.shape
        k, q, v = self.key(x), self.query(x), self.value(x)
        wei = q @ k.transpose(-2, -1) * C**-0.5
        wei = F.softmax(wei, dim=-1)
        return wei @ v


class Chorus(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        self.heads = nn.ModuleList([Syllable(n_embd, n_embd // n_head) for _ in range(n_head)])

    def forward(self, x):
        return torch.cat([h(x) for h in self.heads], dim=-1)
