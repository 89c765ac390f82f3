# case: clean_narrowed_and_selected expect: clean
# proved: yes
from torch import nn


class Narrowed(nn.Module):
    def __init__(self, width, size):
        super().__init__()
        self.width, self.size = width, size
        self.qkv = nn.Linear(width, 3 * size)

    def forward(self, x):
        b, n, _ = x.shape
        qkv = self.qkv(x)
        q = qkv.narrow(-1, 0, self.size)
        kv = qkv.narrow(2, self.size, 2 * self.size).view(b, n, 2, self.size)
        k, v = (kv.select(2, i) for i in range(2))
        weights = (q @ k.transpose(1, 2) / self.size**0.5).softmax(dim=-1)
        return weights @ v
