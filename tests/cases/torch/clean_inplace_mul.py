# case: clean_inplace_mul expect: clean
# proved: yes
import torch
from torch import nn


class Tributary(nn.Module):
    def __init__(self, d_model, n_head, d_head):
        super().__init__()
        self.n_head, self.d_head = n_head, d_head
        self.scale = 1 / (d_head**0.5)
        self.qkv_net = nn.Linear(d_model, 3 * n_head * d_head)

    def forward(self, inp, hidden=None):
        n_head, d_head = self.n_head, self.d_head
        hq, hk, hv = torch.chunk(self.qkv_net(inp), 3, dim=2)
        s0, s1 = inp.shape[0], inp.shape[1]
        hq = hq.view(s0, s1, n_head, d_head).permute(2, 0, 1, 3).reshape(s0 * n_head, s1, d_head)
        hk = hk.view(s0, s1, n_head, d_head).permute(2, 0, 1, 3).reshape(s0 * n_head, s1, d_head)
        hv = hv.view(s0, s1, n_head, d_head).permute(2, 0, 1, 3).reshape(s0 * n_head, s1, d_head)
        score = torch.bmm(hq, hk.transpose(1, 2))
        score.mul_(self.scale)
        if hidden is not None:
            score.masked_fill_(hidden.repeat(n_head, 1, 1), -float("inf"))
        vec = torch.bmm(torch.softmax(score, dim=2), hv).view(n_head, s0, s1, d_head)
        return vec.permute(1, 2, 0, 3).contiguous().view(s0, s1, n_head * d_head)
