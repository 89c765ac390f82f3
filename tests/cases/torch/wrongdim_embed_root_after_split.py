# case: wrongdim_embed_root_after_split expect: wrong-dim-scale line: 21
import torch
import torch.nn as nn


class Band(nn.Module):
    def __init__(self, embed_size, players):
        super().__init__()
        self.embed_size, self.players = embed_size, players
        self.part = embed_size // players
        self.values = nn.Linear(self.part, self.part, bias=False)
        self.keys = nn.Linear(self.part, self.part, bias=False)
        self.queries = nn.Linear(self.part, self.part, bias=False)

    def forward(self, values, keys, query):
        n = query.shape[0]
        values = self.values(values.reshape(n, -1, self.players, self.part))
        keys = self.keys(keys.reshape(n, -1, self.players, self.part))
        queries = self.queries(query.reshape(n, -1, self.players, self.part))
        energy = torch.einsum("nqhd,nkhd->nhqk", [queries, keys])
        attention = torch.softmax(energy / (self.embed_size ** (1 / 2)), dim=3)
        return torch.einsum("nhql,nlhd->nqhd", [attention, values]).reshape(n, -1, self.players * self.part)
