# case: intended_luong_score_switch expect: clean
import torch
import torch.nn as nn
import torch.nn.functional as F


class Alignment(nn.Module):
    def __init__(self, dim, kind="dot"):
        super().__init__()
        self.kind, self.dim = kind, dim
        if kind == "general":
            self.linear_in = nn.Linear(dim, dim, bias=False)
        elif kind == "mlp":
            self.linear_query, self.linear_context = nn.Linear(dim, dim), nn.Linear(dim, dim, bias=False)
            self.v = nn.Linear(dim, 1, bias=False)
        self.linear_out = nn.Linear(dim * 2, dim)

    def score(self, h_t, h_s):
        if self.kind in ("dot", "general"):
            if self.kind == "general":
                h_t = self.linear_in(h_t)
            return torch.bmm(h_t, h_s.transpose(1, 2))
        wq = self.linear_query(h_t).unsqueeze(2)
        uh = self.linear_context(h_s).unsqueeze(1)
        return self.v(torch.tanh(wq + uh)).squeeze(3)

    def forward(self, source, memory):
        batch, source_len, _ = memory.size()
        target_len = source.size(1)
        align = self.score(source, memory)
        vectors = F.softmax(align.view(batch * target_len, source_len), -1).view(batch, target_len, source_len)
        c = torch.bmm(vectors, memory)
        return torch.tanh(self.linear_out(torch.cat([c, source], 2)))
