# case: intended_values_made_of_the_latent expect: clean
# verdict: intended
import torch
from torch import nn


class LatentAttention(nn.Module):
    """Queries are compared with the latent itself, which the values are made of; the root is that of a head."""

    def __init__(self, dim, heads, query_latent, latent):
        super().__init__()
        self.heads, self.head_dim = heads, dim // heads
        self.down_q = nn.Linear(dim, query_latent, bias=False)
        self.up_q = nn.Linear(query_latent, heads * latent, bias=False)
        self.down_kv = nn.Linear(dim, latent, bias=False)
        self.up_v = nn.Linear(latent, heads * self.head_dim, bias=False)

    def forward(self, x):
        b, n, _ = x.shape
        q = self.up_q(self.down_q(x)).view(b, n, self.heads, -1).transpose(1, 2)
        kv = self.down_kv(x)
        v = self.up_v(kv).view(b, n, self.heads, -1).transpose(1, 2)
        scores = torch.matmul(q, kv.transpose(-2, -1)[:, None, ...]) / (self.head_dim**0.5)
        return torch.matmul(torch.softmax(scores, dim=-1), v)
