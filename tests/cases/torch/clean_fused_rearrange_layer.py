# case: clean_fused_rearrange_layer expect: clean
# proved: yes
import torch
from einops.layers.torch import Rearrange
from torch import nn


class ScanBlock(nn.Module):
    def __init__(self, hidden_size, num_heads, dim_head=None, use_fused=False):
        super().__init__()
        self.dim_head = dim_head if dim_head is not None else hidden_size // num_heads
        self.inner_dim = self.dim_head * num_heads
        self.scale = self.dim_head**-0.5
        self.use_fused = use_fused
        self.qkv = nn.Linear(hidden_size, self.inner_dim * 3, bias=False)
        self.input_rearrange = Rearrange("b n (three h d) -> three b h n d", three=3, h=num_heads)
        self.out_rearrange = Rearrange("b h n d -> b n (h d)")
        self.drop = nn.Dropout(0.0)

    def forward(self, x):
        q, k, v = self.input_rearrange(self.qkv(x))
        if self.use_fused:
            y = nn.functional.scaled_dot_product_attention(q, k, v, scale=self.scale)
        else:
            mat = torch.einsum("blxd,blyd->blxy", q, k) * self.scale
            y = torch.einsum("bhxy,bhyd->bhxd", self.drop(mat.softmax(dim=-1)), v)
        return self.out_rearrange(y)
