# case: other_expert_gate_topk expect: clean
import torch
import torch.nn.functional as F
from torch import nn


class Experts(nn.Module):
    def __init__(self, dim, n_experts, k):
        super().__init__()
        self.k = k
        self.gate = nn.Linear(dim, n_experts, bias=False)
        self.experts = nn.ModuleList([nn.Linear(dim, dim) for _ in range(n_experts)])

    def forward(self, x):
        scores = F.softmax(self.gate(x), dim=-1)
        top, index = scores.topk(self.k, dim=-1)
        out = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            share = (top * (index == e)).sum(dim=-1, keepdim=True)
            out = out + share * expert(x)
        return out
