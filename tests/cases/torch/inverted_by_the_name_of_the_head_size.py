# case: inverted_by_the_name_of_the_head_size expect: inverted-scale line: 15 alt: 10
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, config, project):
        super().__init__()
        self.project = project
        self.scale = config.head_dim**0.5

    def forward(self, x, memory):
        q = self.project(x)
        k, v = self.project(memory), memory
        return torch.softmax(torch.matmul(q, k.transpose(-1, -2)) * self.scale, dim=-1) @ v
