# case: clean_relative_bias_after_scale expect: clean
# proved: yes
import torch
from torch import nn


class StepBias(nn.Module):
    def __init__(self, heads, reach):
        super().__init__()
        self.reach = reach
        self.table = nn.Embedding(2 * reach + 1, heads)

    def forward(self, n):
        steps = torch.arange(n)
        gap = (steps[None, :] - steps[:, None]).clamp(-self.reach, self.reach) + self.reach
        return self.table(gap).permute(2, 0, 1)


class Staircase(nn.Module):
    def __init__(self, dim, heads, reach=8):
        super().__init__()
        self.heads = heads
        self.scale = (dim // heads) ** -0.5
        self.bias = StepBias(heads, reach)
        self.to_qkv = nn.Linear(dim, 3 * dim, bias=False)

    def forward(self, x):
        b, n, dim = x.shape
        q, k, v = self.to_qkv(x).view(b, n, 3, self.heads, -1).unbind(dim=2)
        dots = torch.einsum("bihc,bjhc->bhij", q, k)
        dots = dots * self.scale
        dots = dots + self.bias(n)
        return torch.einsum("bhij,bjhc->bihc", dots.softmax(dim=-1), v).reshape(b, n, dim)
