# case: clean_complex_rotation expect: clean
# proved: yes
import torch
from torch import nn


def turn(q, k, angles):
    q_ = torch.view_as_complex(q.float().reshape(*q.shape[:-1], -1, 2))
    k_ = torch.view_as_complex(k.float().reshape(*k.shape[:-1], -1, 2))
    angles = angles[:, None, :]
    return torch.view_as_real(q_ * angles).flatten(3).type_as(q), torch.view_as_real(k_ * angles).flatten(3).type_as(k)


class Turned(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.per_head = heads, width // heads
        self.wq, self.wk, self.wv = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x, angles):
        b, n, _ = x.shape
        q, k, v = (w(x).view(b, n, self.heads, self.per_head) for w in (self.wq, self.wk, self.wv))
        q, k = turn(q, k, angles)
        scores = q.transpose(1, 2) @ k.permute(0, 2, 3, 1) * self.per_head**-0.5
        return scores.softmax(dim=-1) @ v.transpose(1, 2)
