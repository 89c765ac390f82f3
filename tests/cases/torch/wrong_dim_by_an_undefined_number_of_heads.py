# case: wrong_dim_by_an_undefined_number_of_heads expect: wrong-dim-scale line: 24 alt: 14
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads, head_dim):
        super().__init__()
        self.query = nn.Linear(width, heads * head_dim)
        self.key = nn.Linear(width, heads * head_dim)
        self.value = nn.Linear(width, heads * head_dim)
        self.head_dim = head_dim
        # `num_heads` is a name of the module that this was cut from
        inner = head_dim * num_heads  # noqa: F821
        self.scale = inner**-0.5

    def split(self, x):
        b, t, _ = x.shape
        return x.view(b, t, -1, self.head_dim).transpose(1, 2)

    def forward(self, x):
        q = self.split(self.query(x))
        k = self.split(self.key(x))
        v = self.split(self.value(x))
        return ((q @ k.transpose(-2, -1)) * self.scale).softmax(-1) @ v
