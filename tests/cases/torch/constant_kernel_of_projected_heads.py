# case: constant_kernel_of_projected_heads expect: constant-scale line: 14
import torch
from flash_attn import flash_attn_func
from torch import nn


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(512, 3 * 512)

    def forward(self, x):
        q, k, v = self.qkv(x).view(x.shape[0], x.shape[1], 3, 8, 64).unbind(2)
        return flash_attn_func(q, k, v, 0.0, 0.1)


print(Attention()(torch.randn(2, 128, 512)).shape)
