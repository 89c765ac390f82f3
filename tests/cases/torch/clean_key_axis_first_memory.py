# case: clean_key_axis_first_memory expect: clean
# proved: yes
import torch
import torch.nn.functional as F
from torch import nn


class Recollection(nn.Module):
    def __init__(self, n_head, d_model, d_head):
        super().__init__()
        self.n_head, self.d_head = n_head, d_head
        self.q_net = nn.Linear(d_model, n_head * d_head, bias=False)
        self.kv_net = nn.Linear(d_model, 2 * n_head * d_head, bias=False)
        self.scale = 1 / (d_head**0.5)

    def forward(self, h, mems=None):
        c = torch.cat([mems, h], 0) if mems is not None else h
        head_q = self.q_net(h)
        head_k, head_v = torch.chunk(self.kv_net(c), 2, -1)
        head_q = head_q.view(h.size(0), h.size(1), self.n_head, self.d_head)
        head_k = head_k.view(c.size(0), c.size(1), self.n_head, self.d_head)
        head_v = head_v.view(c.size(0), c.size(1), self.n_head, self.d_head)
        score = torch.einsum("ibnd,jbnd->ijbn", (head_q, head_k))
        score.mul_(self.scale)
        prob = F.softmax(score, dim=1)
        vec = torch.einsum("ijbn,jbnd->ibnd", (prob, head_v))
        return vec.contiguous().view(vec.size(0), vec.size(1), self.n_head * self.d_head)
