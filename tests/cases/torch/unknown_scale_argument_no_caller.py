# case: unknown_scale_argument_no_caller expect: clean
import torch
from torch import nn


class Given(nn.Module):
    def __init__(self, d_k, drop):
        super().__init__()
        self.d_k, self.drop = d_k, nn.Dropout(drop)

    def forward(self, q, k, v, mask=None):
        attn = torch.matmul(q / (self.d_k**0.5), k.transpose(2, 3))
        if mask is not None:
            attn = attn.masked_fill(~mask, -1e9)
        return torch.matmul(self.drop(torch.softmax(attn, dim=-1)), v)
