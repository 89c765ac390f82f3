# case: clean_by_the_name_of_the_head_size expect: clean
import torch
from torch import nn


class Attention(nn.Module):
    """Both powers of the head size that leave its root, and a temperature beside it."""

    def __init__(self, config, project):
        super().__init__()
        self.project = project
        self.scale = config.head_dim**-0.5
        self.temperature = config.temperature

    def forward(self, x, memory):
        q = self.project(x)
        k, v = self.project(memory), memory
        return torch.softmax(torch.matmul(q, k.transpose(-1, -2)) * self.scale / self.temperature, dim=-1) @ v


class Halves(nn.Module):
    def __init__(self, config, project):
        super().__init__()
        self.project = project
        self.scale = config.head_dim**-0.25

    def forward(self, x, memory):
        q = self.project(x) * self.scale
        k, v = self.project(memory) * self.scale, memory
        return torch.softmax(torch.matmul(q, k.transpose(-1, -2)), dim=-1) @ v
