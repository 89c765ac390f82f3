# case: other_pooling_by_context_vector expect: clean
import torch
from torch import nn


class DocumentPool(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.mlp = nn.Linear(hidden, hidden)
        self.context = nn.Parameter(torch.randn(hidden))

    def forward(self, words):
        u = torch.tanh(self.mlp(words))
        a = torch.softmax(u @ self.context, dim=1)
        return (words * a.unsqueeze(-1)).sum(dim=1)
