# case: missing_made_under_main expect: missing-scale line: 13
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        return torch.softmax(torch.bmm(q, k.transpose(1, 2)), dim=-1) @ v


if __name__ == "__main__":
    print(Attention(64)(torch.rand(48, 510, 64)).shape)
