# case: clean_module_constants expect: clean
# proved: yes
import torch
from torch import nn

WIDTH = 96
HEADS = 6
HEAD_WIDTH = WIDTH // HEADS
SCALE = HEAD_WIDTH**-0.5


class Fixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(WIDTH, WIDTH)
        self.k = nn.Linear(WIDTH, WIDTH)
        self.v = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        n = x.size(1)
        q = self.q(x).view(-1, n, HEADS, HEAD_WIDTH).transpose(1, 2)
        k = self.k(x).view(-1, n, HEADS, HEAD_WIDTH).transpose(1, 2)
        v = self.v(x).view(-1, n, HEADS, HEAD_WIDTH).transpose(1, 2)
        return (torch.softmax(q @ k.transpose(2, 3) * SCALE, dim=-1) @ v).transpose(1, 2).flatten(2)
