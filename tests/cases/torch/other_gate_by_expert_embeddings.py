# case: other_gate_by_expert_embeddings expect: clean
import torch
import torch.nn.functional as F
from torch import nn


class Dispatch(nn.Module):
    def __init__(self, dim, n_experts, capacity):
        super().__init__()
        self.capacity = capacity
        self.proj = nn.Linear(dim, dim)
        self.centroids = nn.Parameter(torch.randn(n_experts, dim))

    def forward(self, tokens):
        affinity = self.proj(tokens) @ self.centroids.t()
        gates = F.softmax(affinity, dim=-1)
        chosen = gates.topk(self.capacity, dim=0).indices
        return torch.einsum("te,td->ed", gates, tokens), chosen
