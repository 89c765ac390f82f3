# case: inverted_times_divisor expect: inverted-scale line: 18 alt: 14
import math

import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class TimesDivisor(nn.Layer):
    """The attribute holds the root, and the scores are multiplied by it."""

    def __init__(self, dim, d_k):
        super().__init__()
        self.scale = math.sqrt(d_k)
        self.q, self.k, self.v = nn.Linear(dim, d_k), nn.Linear(dim, d_k), nn.Linear(dim, dim)

    def forward(self, x):
        s = paddle.matmul(self.q(x), self.k(x), transpose_y=True) * self.scale
        return paddle.matmul(F.softmax(s, axis=-1), self.v(x))
