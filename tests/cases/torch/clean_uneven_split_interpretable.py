# case: clean_uneven_split_interpretable expect: clean
# proved: yes
import torch
from torch import nn


class SharedValue(nn.Module):
    """All heads read one value."""

    def __init__(self, n_head, hidden_size):
        super().__init__()
        self.n_head, self.d_head = n_head, hidden_size // n_head
        self.qkv_linears = nn.Linear(hidden_size, (2 * n_head + 1) * self.d_head, bias=False)
        self.scale = self.d_head**-0.5

    def forward(self, x):
        bs, t, h_size = x.shape
        q, k, v = self.qkv_linears(x).split((self.n_head * self.d_head, self.n_head * self.d_head, self.d_head), dim=-1)
        q = q.view(bs, t, self.n_head, self.d_head)
        k = k.view(bs, t, self.n_head, self.d_head)
        v = v.view(bs, t, self.d_head)
        score = torch.matmul(q.permute((0, 2, 1, 3)), k.permute((0, 2, 3, 1)))
        score.mul_(self.scale)
        prob = torch.softmax(score, dim=3)
        return torch.matmul(prob, v.unsqueeze(1)).mean(dim=1)
