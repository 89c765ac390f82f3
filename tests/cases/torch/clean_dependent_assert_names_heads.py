# case: clean_dependent_assert_names_heads expect: clean
# proved: yes
import torch
from torch import nn


class Assembly(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim):
        super().__init__()
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, head_dim
        assert self.head_dim * self.num_heads == self.embed_dim, "heads must fill the width"
        self.scaling = self.head_dim**-0.5
        self.query = nn.Linear(embed_dim, embed_dim)
        self.key = nn.Linear(embed_dim, embed_dim)
        self.value = nn.Linear(embed_dim, embed_dim)

    def forward(self, x):
        batch, n = x.shape[:2]
        q = self.query(x).view(batch, n, self.num_heads, -1).transpose(1, 2)
        k = self.key(x).view(batch, n, self.num_heads, -1).transpose(1, 2)
        v = self.value(x).view(batch, n, self.num_heads, -1).transpose(1, 2)
        scores = self.scaling * torch.einsum("bhid,bhjd->bhij", q, k)
        return (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, n, self.embed_dim)
