# case: other_key_value_memory_matrix expect: clean
import torch
from torch import nn


class KnowledgeTrace(nn.Module):
    def __init__(self, concepts, size, slots):
        super().__init__()
        self.ask = nn.Embedding(concepts, size)
        self.keys = nn.Parameter(torch.randn(slots, size))
        self.values = nn.Parameter(torch.randn(slots, size))
        self.erase, self.add = nn.Linear(size, size), nn.Linear(size, size)

    def forward(self, concepts, answers):
        k = self.ask(concepts)
        w = torch.softmax(torch.matmul(k, self.keys.T), dim=-1)
        memory = self.values.unsqueeze(0).repeat(k.shape[0], 1, 1)
        out = []
        for t in range(k.shape[1]):
            out.append((w[:, t].unsqueeze(-1) * memory).sum(1))
            e, a = torch.sigmoid(self.erase(answers[:, t])), torch.tanh(self.add(answers[:, t]))
            memory = memory * (1 - w[:, t].unsqueeze(-1) * e.unsqueeze(1)) + w[:, t].unsqueeze(-1) * a.unsqueeze(1)
        return torch.stack(out, dim=1)
