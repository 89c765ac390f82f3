# case: wrongdim_latent_keys_absorbed_root_of_width expect: wrong-dim-scale line: 10
import torch
from torch import nn


class Latent(nn.Module):
    def __init__(self, width, heads, rank, size, turned):
        super().__init__()
        self.heads, self.rank, self.size, self.turned = heads, rank, size, turned
        self.scale = width ** -0.5
        self.to_q = nn.Linear(width, heads * (size + turned), bias=False)
        self.to_latent = nn.Linear(width, rank, bias=False)
        self.to_turned = nn.Linear(width, turned, bias=False)
        self.up = nn.Parameter(torch.randn(heads, size, rank))
        self.out = nn.Linear(heads * rank, width)

    def forward(self, x):
        b, t, _ = x.shape
        plain, turned = self.to_q(x).view(b, t, self.heads, -1).split([self.size, self.turned], dim=-1)
        latent, key = self.to_latent(x), self.to_turned(x)
        asked = torch.einsum("bthd,hdr->bthr", plain, self.up)
        logits = torch.einsum("bthr,bsr->bhts", asked, latent) + torch.einsum("bthd,bsd->bhts", turned, key)
        weights = torch.softmax(logits * self.scale, dim=-1)
        return self.out(torch.einsum("bhts,bsr->bthr", weights, latent).flatten(2))
