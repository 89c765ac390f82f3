# case: clean_local_chunks_look_back expect: clean
# proved: yes
import torch
from torch import nn


class LookBack(nn.Module):
    def __init__(self, dim, heads, window):
        super().__init__()
        self.heads, self.window, self.d = heads, window, dim // heads
        self.to_qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x):
        b, n, dim = x.shape
        w = n // self.window
        q, k, v = (t.reshape(b, w, self.window, self.heads, self.d).permute(0, 3, 1, 2, 4) for t in self.to_qkv(x).chunk(3, -1))
        k = torch.cat((torch.roll(k, 1, dims=2), k), dim=3)
        v = torch.cat((torch.roll(v, 1, dims=2), v), dim=3)
        sim = torch.einsum("bhwid,bhwjd->bhwij", q, k) * self.d**-0.5
        first = torch.zeros(w, 2 * self.window, dtype=torch.bool)
        first[0, : self.window] = True
        sim = sim.masked_fill(first[None, None, :, None, :], float("-inf"))
        return torch.einsum("bhwij,bhwjd->bhwid", sim.softmax(-1), v).permute(0, 2, 3, 1, 4).reshape(b, n, dim)
