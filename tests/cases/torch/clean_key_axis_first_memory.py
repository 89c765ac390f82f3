# case: clean_key_axis_first_memory expect: clean
# proved: yes
import torch
import torch.nn.functional as F
from torch import nn


class Recollection(nn.Module):
    def __init__(self, voices, d_model, pitch):
        super().__init__()
        self.voices, self.pitch = voices, pitch
        self.ask_net = nn.Linear(d_model, voices * pitch, bias=False)
        self.tell_net = nn.Linear(d_model, 2 * voices * pitch, bias=False)
        self.scale = 1 / (pitch**0.5)

    def forward(self, h, mems=None):
        c = torch.cat([mems, h], 0) if mems is not None else h
        mine = self.ask_net(h)
        theirs, told = torch.chunk(self.tell_net(c), 2, -1)
        mine = mine.view(h.size(0), h.size(1), self.voices, self.pitch)
        theirs = theirs.view(c.size(0), c.size(1), self.voices, self.pitch)
        told = told.view(c.size(0), c.size(1), self.voices, self.pitch)
        score = torch.einsum("ibnd,jbnd->ijbn", (mine, theirs))
        score.mul_(self.scale)
        prob = F.softmax(score, dim=1)
        vec = torch.einsum("ijbn,jbnd->ibnd", (prob, told))
        return vec.contiguous().view(vec.size(0), vec.size(1), self.voices * self.pitch)
