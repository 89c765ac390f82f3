# case: missing_matmul expect: missing-scale line: 16 alt: 17
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class Plain(nn.Layer):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (f(x).reshape([b, n, self.heads, c // self.heads]).transpose([0, 2, 1, 3]) for f in (self.q, self.k, self.v))
        s = paddle.matmul(q, k, transpose_y=True)
        return paddle.matmul(F.softmax(s, axis=-1), v).transpose([0, 2, 1, 3]).reshape([b, n, c])
