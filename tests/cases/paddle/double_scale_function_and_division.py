# case: double_scale_function_and_division expect: double-scale line: 15 alt: 14
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class ScaledTwice(nn.Layer):
    def __init__(self, dim, d_k):
        super().__init__()
        self.d_k = d_k
        self.q, self.k, self.v = nn.Linear(dim, d_k), nn.Linear(dim, d_k), nn.Linear(dim, dim)

    def forward(self, x):
        q = paddle.scale(x=self.q(x), scale=self.d_k**-0.5)
        s = paddle.matmul(q, self.k(x), transpose_y=True) / self.d_k**0.5
        return paddle.matmul(F.softmax(s, axis=-1), self.v(x))
