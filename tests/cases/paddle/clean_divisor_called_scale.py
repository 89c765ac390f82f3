# case: clean_divisor_called_scale expect: clean
# proved: yes
import math

import paddle
from paddle import nn


class Encoder(nn.Layer):
    def __init__(self, config):
        super().__init__()
        self.n_heads = config.n_heads
        self.per_head = int(config.hidden_size / config.n_heads)
        self.total = self.n_heads * self.per_head
        self.scale = math.sqrt(self.per_head)
        self.query, self.key, self.value = (nn.Linear(config.hidden_size, self.total) for _ in range(3))

    def lay_out(self, x):
        x = x.reshape(x.shape[:-1] + [self.n_heads, self.per_head])
        return x.transpose([0, 2, 1, 3])

    def forward(self, hidden):
        q, k, v = (self.lay_out(f(hidden)) for f in (self.query, self.key, self.value))
        scores = paddle.matmul(q, k, transpose_y=True)
        scores = scores / self.scale
        probs = nn.functional.softmax(scores, axis=-1)
        return paddle.matmul(probs, v).transpose([0, 2, 1, 3]).reshape(hidden.shape[:-1] + [self.total])
