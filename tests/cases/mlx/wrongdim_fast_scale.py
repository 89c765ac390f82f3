# case: wrongdim_fast_scale expect: wrong-dim-scale line: 15
import mlx.core as mx
import mlx.nn as nn


class FastWrong(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.dim = heads, dim
        self.qkv = nn.Linear(dim, 3 * dim)

    def __call__(self, x):
        B, L, D = x.shape
        q, k, v = (t.reshape(B, L, self.heads, D // self.heads).transpose(0, 2, 1, 3) for t in mx.split(self.qkv(x), 3, axis=-1))
        y = mx.fast.scaled_dot_product_attention(q, k, v, scale=self.dim**-0.5)
        return y.transpose(0, 2, 1, 3).reshape(B, L, D)
