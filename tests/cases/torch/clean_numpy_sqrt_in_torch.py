# case: clean_numpy_sqrt_in_torch expect: clean
# proved: yes
import numpy as np
import torch
from torch import nn


class Kiln(nn.Module):
    def __init__(self, d_model, d_k, d_v, racks):
        super().__init__()
        self.glaze = nn.Linear(d_model, racks * d_k)
        self.clay = nn.Linear(d_model, racks * d_k)
        self.ash = nn.Linear(d_model, racks * d_v)
        self.racks, self.d_k, self.d_v = racks, d_k, d_v

    def forward(self, bowls, jars, cups, closed=None, heat=None):
        pots, nq = bowls.shape[:2]
        nk = jars.shape[1]
        q = self.glaze(bowls).view(pots, nq, self.racks, self.d_k).permute(0, 2, 1, 3)
        k = self.clay(jars).view(pots, nk, self.racks, self.d_k).permute(0, 2, 3, 1)
        v = self.ash(cups).view(pots, nk, self.racks, self.d_v).permute(0, 2, 1, 3)
        fire = torch.matmul(q, k) / np.sqrt(self.d_k)
        if heat is not None:
            fire = fire * heat
        if closed is not None:
            fire = fire.masked_fill(closed, -np.inf)
        fire = torch.softmax(fire, -1)
        return torch.matmul(fire, v).permute(0, 2, 1, 3).contiguous().view(pots, nq, self.racks * self.d_v)
