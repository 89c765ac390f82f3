# case: clean_gqa_repeat_interleave_rope expect: clean
# proved: yes
import torch
from torch import nn


def half_turn(x):
    left, right = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return torch.cat((-right, left), dim=-1)


def turn(q, k, cos, sin):
    return (q * cos) + (half_turn(q) * sin), (k * cos) + (half_turn(k) * sin)


class CompassAttention(nn.Module):
    def __init__(self, d_in, num_heads, num_groups, head_dim=None):
        super().__init__()
        if head_dim is None:
            head_dim = d_in // num_heads
        self.num_heads, self.num_groups, self.head_dim = num_heads, num_groups, head_dim
        self.group_size = num_heads // num_groups
        self.w_query = nn.Linear(d_in, num_heads * head_dim, bias=False)
        self.w_key = nn.Linear(d_in, num_groups * head_dim, bias=False)
        self.w_value = nn.Linear(d_in, num_groups * head_dim, bias=False)

    def forward(self, x, cos, sin):
        b, n, _ = x.shape
        q = self.w_query(x).view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.w_key(x).view(b, n, self.num_groups, self.head_dim).transpose(1, 2)
        v = self.w_value(x).view(b, n, self.num_groups, self.head_dim).transpose(1, 2)
        q, k = turn(q, k, cos, sin)
        k = k.repeat_interleave(self.group_size, dim=1)
        v = v.repeat_interleave(self.group_size, dim=1)
        scores = q @ k.transpose(2, 3)
        scores = scores.masked_fill(torch.ones(n, n, device=x.device, dtype=torch.bool).triu(1), -torch.inf)
        weights = torch.softmax(scores / self.head_dim**0.5, dim=-1)
        return (weights @ v).transpose(1, 2).reshape(b, n, -1)
