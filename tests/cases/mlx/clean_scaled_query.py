# case: clean_scaled_query expect: clean
# proved: yes
import mlx.core as mx
import mlx.nn as nn


class Attention(nn.Module):
    def __init__(self, dims, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = dims // num_heads
        self.scale = self.head_dim**-0.5
        self.q_proj = nn.Linear(dims, dims, bias=False)
        self.k_proj = nn.Linear(dims, dims, bias=False)
        self.v_proj = nn.Linear(dims, dims, bias=False)

    def __call__(self, x, mask=None):
        B, L, D = x.shape
        q = self.q_proj(x).reshape(B, L, self.num_heads, -1).transpose(0, 2, 1, 3)
        k = self.k_proj(x).reshape(B, L, self.num_heads, -1).transpose(0, 2, 1, 3)
        v = self.v_proj(x).reshape(B, L, self.num_heads, -1).transpose(0, 2, 1, 3)
        scores = (q * self.scale) @ k.swapaxes(-1, -2)
        if mask is not None:
            scores = scores + mask
        scores = mx.softmax(scores, axis=-1, precise=True)
        return (scores @ v).transpose(0, 2, 1, 3).reshape(B, L, D)
