# case: intended_learned_temperature_from_root expect: clean
import torch
from torch import nn


class SmallData(nn.Module):
    """The temperature starts at the inverse root and is trained."""

    def __init__(self, dim, heads, dim_head):
        super().__init__()
        self.heads = heads
        self.temperature = nn.Parameter(torch.log(torch.tensor(dim_head**-0.5)))
        self.to_qkv = nn.Linear(dim, heads * dim_head * 3, bias=False)

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = (t.view(b, n, self.heads, -1).transpose(1, 2) for t in self.to_qkv(x).chunk(3, dim=-1))
        dots = torch.matmul(q, k.transpose(-1, -2)) * self.temperature.exp()
        dots = dots.masked_fill(torch.eye(n, dtype=torch.bool), -torch.finfo(dots.dtype).max)
        return (dots.softmax(dim=-1) @ v).transpose(1, 2).reshape(b, n, -1)
