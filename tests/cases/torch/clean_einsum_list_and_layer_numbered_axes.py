# case: clean_einsum_list_and_layer_numbered_axes expect: clean
# proved: yes
import torch
from torch import nn


class Parliament(nn.Module):
    def __init__(self, embed, seats):
        super().__init__()
        self.seats, self.seat_dim = seats, embed // seats
        self.wq = nn.Linear(embed, seats * self.seat_dim, bias=False)
        self.wk = nn.Linear(embed, seats * self.seat_dim, bias=False)
        self.wv = nn.Linear(embed, seats * self.seat_dim, bias=False)
        self.merge = nn.Linear(seats * self.seat_dim, embed)

    def forward(self, values, keys, query, mask=None):
        N = query.shape[0]
        value_len, key_len, query_len = values.shape[1], keys.shape[1], query.shape[1]
        values = self.wv(values).reshape(N, value_len, self.seats, self.seat_dim)
        keys = self.wk(keys).reshape(N, key_len, self.seats, self.seat_dim)
        queries = self.wq(query).reshape(N, query_len, self.seats, self.seat_dim)
        energy = torch.einsum("nqhd,nkhd->nhqk", [queries, keys])
        if mask is not None:
            energy = energy.masked_fill(mask == 0, float("-1e20"))
        attention = torch.softmax(energy / (self.seat_dim ** (1 / 2)), dim=3)
        out = torch.einsum("nhql,nlhd->nqhd", [attention, values])
        return self.merge(out.reshape(N, query_len, self.seats * self.seat_dim))
