# case: multmask_fill_zero expect: multiplicative-mask line: 15
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class ZeroFilled(nn.Layer):
    def __init__(self, dim, d_k):
        super().__init__()
        self.d_k = d_k
        self.q, self.k, self.v = nn.Linear(dim, d_k), nn.Linear(dim, d_k), nn.Linear(dim, dim)

    def forward(self, x, keep):
        s = paddle.matmul(self.q(x), self.k(x), transpose_y=True) / self.d_k**0.5
        s = paddle.where(keep.unsqueeze(1), s, paddle.zeros_like(s))
        return paddle.matmul(F.softmax(s, axis=-1), self.v(x))
