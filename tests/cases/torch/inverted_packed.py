# case: inverted_packed expect: inverted-scale line: 9
from flash_attn import flash_attn_qkvpacked_func
from torch import nn


class Packed(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.scale = heads, (width // heads) ** 0.5
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x):
        qkv = self.qkv(x).view(x.shape[0], x.shape[1], 3, self.heads, -1)
        return flash_attn_qkvpacked_func(qkv, 0.0, self.scale)
