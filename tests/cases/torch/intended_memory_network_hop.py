# case: intended_memory_network_hop expect: clean
import torch
from torch import nn


class Hops(nn.Module):
    def __init__(self, vocab, size, hops):
        super().__init__()
        self.hops = hops
        self.a = nn.Embedding(vocab, size)
        self.c = nn.Embedding(vocab, size)
        self.turn = nn.Linear(size, size, bias=False)
        self.softmax = nn.Softmax(dim=1)

    def forward(self, question, stories):
        u = self.a(question).sum(1)
        m, c = self.a(stories).sum(2), self.c(stories).sum(2)
        for _ in range(self.hops):
            p = self.softmax(torch.bmm(m, u.unsqueeze(2)).squeeze(2))
            o = torch.bmm(p.unsqueeze(1), c).squeeze(1)
            u = self.turn(u) + o
        return u
