# case: clean_scale_in_a_mapping_made_for_the_call expect: clean
import kernels
from flash_attn import flash_attn_func
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.head_dim = heads, width // heads
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, self.head_dim).unbind(2)
        settings = kernels.settings(q, softmax_scale=1.0)
        return flash_attn_func(q * self.head_dim**-0.5, k, v, **settings)
