# case: intended_memory_of_own_states expect: clean
"""A memory network: the rows that are compared with the query are the rows that are summed (keys = values, unprojected)."""

import torch
from torch import nn


def last_step(x, mask):
    if mask is None:
        return x[:, -1, :]
    last = torch.sum(mask.long(), 1) - 1
    last = last.unsqueeze(-1).expand(-1, x.shape[1] * x.shape[2])
    x = x.reshape(x.shape[0], -1)
    return torch.gather(x, 1, last)[:, 0:1]


class Graph(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(size, size))
        self.bias = nn.Parameter(torch.zeros(size))

    def forward(self, x, links):
        return torch.mm(links, torch.mm(x, self.weight)) + self.bias


class Bank(nn.Module):
    def __init__(self, links, size):
        super().__init__()
        self.links, self.x = links, torch.eye(links.shape[0])
        self.one, self.two = Graph(size), Graph(size)

    def forward(self):
        return self.two(torch.relu(self.one(self.x, self.links)), self.links)


class Memory(nn.Module):
    def __init__(self, size, links, other):
        super().__init__()
        self.first, self.second = Bank(links, size), Bank(other, size)
        self.beta = nn.Parameter(torch.zeros(1))
        self.fc = nn.Linear(3 * size, links.shape[0])

    def forward(self, queries, history):
        query = last_step(queries, None)
        bank = self.first() - self.second() * torch.sigmoid(self.beta)
        read = torch.mm(torch.softmax(torch.mm(query, bank.t()), dim=-1), bank)
        past = torch.softmax(torch.einsum("bd,bvd->bv", query, queries[:, :-1, :]), dim=1)
        seen = torch.mm(torch.einsum("bv,bvz->bz", past, history), bank)
        return self.fc(torch.cat([query, read, seen], dim=-1))


class Model(nn.Module):
    def __init__(self, size, links, other):
        super().__init__()
        self.rnn = nn.GRU(size, size, batch_first=True)
        self.query = nn.Sequential(nn.ReLU(), nn.Linear(size, size))
        self.memory = Memory(size, links, other)

    def forward(self, x, history):
        out, _ = self.rnn(x)
        return self.memory(self.query(out), history)
