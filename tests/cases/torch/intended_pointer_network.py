# case: intended_pointer_network expect: clean
import torch
from torch import nn


class Pointer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.encoder = nn.LSTM(width, width, batch_first=True)
        self.decoder = nn.LSTMCell(width, width)

    def forward(self, cities, steps):
        states, (h, c) = self.encoder(cities)
        h, c = h[0], c[0]
        picks, step = [], cities.mean(dim=1)
        for _ in range(steps):
            h, c = self.decoder(step, (h, c))
            scores = torch.einsum("bd,bnd->bn", h, states)
            p = torch.softmax(scores, dim=-1)
            picks.append(p)
            step = torch.einsum("bn,bnd->bd", p, states)
        return torch.stack(picks, dim=1)
