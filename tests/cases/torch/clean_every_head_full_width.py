# case: clean_every_head_full_width expect: clean
# proved: yes
import torch
from einops import rearrange
from torch import nn


class Committee(nn.Module):
    def __init__(self, embed_dim, members):
        super().__init__()
        self.members = members
        self.scale = embed_dim**-0.5
        self.ask = nn.Linear(embed_dim, members * embed_dim, bias=False)
        self.answer = nn.Linear(embed_dim, members * embed_dim, bias=False)
        self.opinion = nn.Linear(embed_dim, members * embed_dim, bias=False)
        self.unify = nn.Linear(members * embed_dim, embed_dim)

    def forward(self, x):
        b, t, e = x.size()
        q = self.ask(x).view(b, t, self.members, e)
        k = self.answer(x).view(b, t, self.members, e)
        v = self.opinion(x).view(b, t, self.members, e)
        q, k, v = (rearrange(y, "b t h e -> (b h) t e") for y in (q, k, v))
        dot = torch.bmm(q, k.transpose(1, 2)) * self.scale
        out = torch.bmm(torch.softmax(dot, dim=2), v)
        return self.unify(rearrange(out, "(b h) t e -> b t (h e)", h=self.members))
