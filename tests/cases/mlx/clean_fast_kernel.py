# case: clean_fast_kernel expect: clean
# proved: yes
import mlx.core as mx
import mlx.nn as nn


class FastKernel(nn.Module):
    def __init__(self, dim, n_heads, n_kv):
        super().__init__()
        self.n_heads, self.n_kv = n_heads, n_kv
        head_dim = dim // n_heads
        self.scale = head_dim**-0.5
        self.wq = nn.Linear(dim, n_heads * head_dim, bias=False)
        self.wk = nn.Linear(dim, n_kv * head_dim, bias=False)
        self.wv = nn.Linear(dim, n_kv * head_dim, bias=False)

    def __call__(self, x):
        B, L, _ = x.shape
        q = self.wq(x).reshape(B, L, self.n_heads, -1).transpose(0, 2, 1, 3)
        k = self.wk(x).reshape(B, L, self.n_kv, -1).transpose(0, 2, 1, 3)
        v = self.wv(x).reshape(B, L, self.n_kv, -1).transpose(0, 2, 1, 3)
        y = mx.fast.scaled_dot_product_attention(q, k, v, scale=self.scale)
        return y.transpose(0, 2, 1, 3).reshape(B, L, -1)
