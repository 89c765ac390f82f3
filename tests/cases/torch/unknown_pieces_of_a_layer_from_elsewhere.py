# case: unknown_pieces_of_a_layer_from_elsewhere expect: clean
# verdict: unknown
import torch
from elsewhere import PackedLinear
from torch import nn


class Attention(nn.Module):
    """Key and value are pieces of one tensor that is not followed, which makes the keys no values."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.head_dim = heads, width // heads
        self.packed = PackedLinear(width, 3 * width)

    def forward(self, x):
        b, t, c = x.shape
        packed, _ = self.packed(x)
        q, k, v = torch.split(packed, c, dim=-1)
        q = q.reshape(b, t, self.heads, self.head_dim).transpose(1, 2)
        k = k.reshape(b, t, self.heads, self.head_dim).transpose(1, 2)
        v = v.reshape(b, t, self.heads, self.head_dim).transpose(1, 2)
        return torch.softmax(q @ k.transpose(-2, -1), dim=-1) @ v
